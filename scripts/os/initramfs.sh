#!/bin/bash
# usage: initramfs.sh OUT KERNEL      (inside the tree)
# Makes an initramfs that fits any machine of its kind, knows ostree and runs Ignition.
set -euo pipefail
dracut --force --no-hostonly --reproducible --zstd \
  --add 'ostree ignition labcoreos' \
  --omit 'plymouth lvm dmraid mdraid iscsi nfs nbd cifs multipath fcoe fcoe-uefi crypt network-legacy ifcfg' \
  --kver "$2" "$1"
