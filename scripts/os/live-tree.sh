#!/bin/bash
# usage: live-tree.sh ARCHIVE COREOS_INSTALLER OSTREE_CONTAINER OUT
# Makes OUT/tree, the live system, and OUT/vmlinuz and OUT/initrd.img to start it with.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
tree=$4/tree out=$4
"$here/unpack.sh" "$1" "$tree" "$here/live/tree"
install -m 0755 "$2" "$tree/usr/bin/coreos-installer"
install -D -m 0755 "$3" "$tree/usr/libexec/libostree/ext/ostree-container"
mkdir -p "$tree"/{opt,tmp,etc/pki,var/log/journal}
chmod 1777 "$tree/tmp"
echo live > "$tree/etc/hostname"
echo 0123456789abcdef0123456789abcdef > "$tree/etc/machine-id"
: > "$tree/etc/fstab"
ln -sf ../run/systemd/resolve/resolv.conf "$tree/etc/resolv.conf"
chroot "$tree" systemctl enable --quiet live-job.service systemd-networkd.service systemd-resolved.service
# Work that no test needs, and that costs seconds in an emulated guest.
chroot "$tree" systemctl mask --quiet apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
  e2scrub_reap.service fstrim.timer getty@tty1.service mdcheck_start.timer mdcheck_continue.timer mdmonitor-oneshot.timer \
  ssh.service systemd-firstboot.service systemd-timesyncd.service
"$here/emulated.sh" "$tree"
kernel=$(ls "$tree/usr/lib/modules")
cp "$tree/boot/vmlinuz-$kernel" "$out/vmlinuz"
"$here/live/initrd.sh" "$tree" "$kernel" "$out/initrd.img"
rm -rf "$tree"/{boot,vmlinuz,initrd.img}{,.old}
mkdir "$tree/boot"
# Newer than /usr, or systemd takes the start for the first after an update and rebuilds its caches.
touch "$tree"/etc/.updated "$tree"/var/.updated
