#!/bin/bash
# usage: emulated.sh TREE
# Lays over a tree what makes it start in less time on an emulated processor: less to load, to look at and to wall in.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
tree=$1
tar -C "$here/emulated" --owner=0 --group=0 --mode=u=rwX,go=rX -cf - . | tar -C "$tree" -xpf -
chroot "$tree" systemctl mask --quiet blk-availability.service dev-hugepages.mount dev-mqueue.mount \
  dracut-shutdown.service lvm2-monitor.service modprobe@configfs.service modprobe@drm.service \
  modprobe@efi_pstore.service modprobe@fuse.service run-lock.mount serial-getty@ttyS0.service \
  sys-fs-fuse-connections.mount sys-kernel-config.mount sys-kernel-debug.mount sys-kernel-tracing.mount \
  systemd-binfmt.service systemd-network-generator.service systemd-networkd-persistent-storage.service \
  systemd-pstore.service systemd-random-seed.service systemd-udev-load-credentials.service \
  systemd-user-sessions.service
chroot "$tree" systemctl set-default --quiet multi-user.target
