#!/bin/bash
# usage: old-userland.sh OUT
# Makes OUT/tree: programs of Debian bullseye that look at disks, clean them and lock them. util-linux 2.36 is the last
# without what 2.37 brought. Nothing in it is configured, nothing of it starts; it is for chroot.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
mmdebstrap --mode=root --variant=extract --format=directory \
  --include=util-linux,mount,fdisk,e2fsprogs,lvm2,mdadm,udev,efibootmgr,coreutils,findutils,grep,dash \
  --dpkgopt='path-exclude=/usr/share/*' \
  bullseye "$1/tree" "$("$here/mirror.sh" bullseye)"
