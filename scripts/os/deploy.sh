#!/bin/bash
# usage: deploy.sh SYSROOT LAYOUT      (inside the tree)
# Makes a plain folder into the root of an ostree system with one deployment that was never booted. It comes from a
# container image, as RHCOS does: an image that is built upon that one then brings its own layers alone. The stateroot
# has the name that RHCOS gives its own; as there, the initramfs finds the root file system without a kernel argument.
set -euo pipefail
sysroot=$1 repo=$1/ostree/repo
ostree admin init-fs --modern "$sysroot"
ostree admin stateroot-init rhcos --sysroot="$sysroot"
ostree --repo="$repo" config set sysroot.bootloader none
ostree --repo="$repo" config set sysroot.readonly true
ostree container image deploy --sysroot="$sysroot" --stateroot=rhcos \
  --imgref="ostree-unverified-image:oci:$2:base" \
  --target-imgref=ostree-unverified-registry:registry.example.test/release/labcoreos:1.0.0 \
  --karg='$ignition_firstboot' --karg=ignition.platform.id=metal
touch "$sysroot/ostree/deploy/rhcos/var/.updated"
# An immutable folder could not be removed when this build is thrown away; the disk gets the mark by itself.
chattr -i "$sysroot"/ostree/deploy/rhcos/deploy/*.0
