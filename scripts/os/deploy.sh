#!/bin/bash
# usage: deploy.sh SYSROOT REPO      (inside the tree)
# Makes a plain folder into the root of an ostree system with one deployment that was never booted.
set -euo pipefail
sysroot=$1 repo=$1/ostree/repo ref=labcoreos/x86_64/stable
ostree admin init-fs --modern "$sysroot"
ostree admin stateroot-init default --sysroot="$sysroot"
ostree --repo="$repo" config set sysroot.bootloader none
ostree --repo="$repo" config set sysroot.readonly true
ostree --repo="$repo" pull-local "$2" "$ref"
ostree admin deploy --sysroot="$sysroot" --os=default \
  --karg=root=LABEL=root --karg-append=rw --karg-append='$ignition_firstboot' --karg-append=ignition.platform.id=metal \
  --karg-append=console=tty0 --karg-append=console=ttyS0,115200n8 "$ref"
touch "$sysroot/ostree/deploy/default/var/.updated"
# An immutable folder could not be removed when this build is thrown away; the disk gets the mark by itself.
chattr -i "$sysroot"/ostree/deploy/default/deploy/*.0
