#!/bin/bash
# usage: deploy.sh SYSROOT REPO      (inside the tree)
# Makes a plain folder into the root of an ostree system with one deployment that was never booted. Its stateroot has
# the name that RHCOS gives its own; as there, the initramfs finds the root file system without a kernel argument.
set -euo pipefail
sysroot=$1 repo=$1/ostree/repo ref=labcoreos/x86_64/stable
ostree admin init-fs --modern "$sysroot"
ostree admin stateroot-init rhcos --sysroot="$sysroot"
ostree --repo="$repo" config set sysroot.bootloader none
ostree --repo="$repo" config set sysroot.readonly true
ostree --repo="$repo" pull-local "$2" "$ref"
ostree admin deploy --sysroot="$sysroot" --os=rhcos \
  --karg='$ignition_firstboot' --karg-append=ignition.platform.id=metal "$ref"
touch "$sysroot/ostree/deploy/rhcos/var/.updated"
# An immutable folder could not be removed when this build is thrown away; the disk gets the mark by itself.
chattr -i "$sysroot"/ostree/deploy/rhcos/deploy/*.0
