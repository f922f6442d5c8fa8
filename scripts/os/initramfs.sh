#!/bin/bash
# usage: initramfs.sh OUT KERNEL      (inside the tree)
# Makes an initramfs that fits an emulated machine, knows ostree and runs Ignition. With the drivers of every machine it
# would be three times as large, and an emulated processor takes ten seconds to read and unpack that.
set -euo pipefail
dracut --force --no-hostonly --reproducible --zstd \
  --add 'ostree ignition labcoreos' \
  --omit 'plymouth lvm dmraid mdraid iscsi nfs nbd cifs multipath fcoe fcoe-uefi crypt network-legacy ifcfg' \
  --omit 'hwdb kernel-modules-extra lunmask memstrack nvdimm overlay-root resume shutdown terminfo virtfs virtiofs' \
  --omit 'systemd-battery-check systemd-pcrphase systemd-sysctl' \
  --drivers 'virtio_pci virtio_blk virtio_net virtio_rng ext4 xfs vfat isofs nls_ascii nls_cp437' \
  --kver "$2" "$1"
