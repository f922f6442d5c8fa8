#!/bin/bash
# usage: live-tree.sh OUT ARCHIVE COREOS_INSTALLER OSTREE_CONTAINER
# Makes OUT/tree, the live system, and OUT/vmlinuz and OUT/initrd.img to start it with.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
tree=$1/tree out=$1
"$here/unpack.sh" "$2" "$tree" "$here/live/tree"
install -m 0755 "$3" "$tree/usr/bin/coreos-installer"
install -D -m 0755 "$4" "$tree/usr/libexec/libostree/ext/ostree-container"
mkdir -p "$tree"/{opt,tmp,etc/pki,var/log/journal}
chmod 1777 "$tree/tmp"
echo live > "$tree/etc/hostname"
echo 0123456789abcdef0123456789abcdef > "$tree/etc/machine-id"
: > "$tree/etc/fstab"
# QEMU's name server; the network is up before the system is, by the initrd.
rm -f "$tree/etc/resolv.conf"
echo nameserver 10.0.2.3 > "$tree/etc/resolv.conf"
# The initramfs of Lab CoreOS is made of this.
rm -rf "$tree/usr/lib/dracut"
"$here/emulated.sh" "$tree"
# Nothing of an earlier start is there, and nothing is kept for a later one.
rm "$tree/usr/lib/systemd/system/sysinit.target.wants/"systemd-{journal-flush,machine-id-commit,tmpfiles-setup}.service
chroot "$tree" systemctl enable --quiet live-job.service
kernel=$(ls "$tree/usr/lib/modules")
# Of its modules only some are there.
chroot "$tree" depmod "$kernel"
cp "$tree/boot/vmlinuz-$kernel" "$out/vmlinuz"
# Nothing else loads dm_mod where LVM asks for it: there is no list of static device nodes.
"$here/live/initrd.sh" "$tree" "$kernel" "$out/initrd.img" "$here/live/initrd" \
  virtio_pci virtio_blk virtio_net ext4 dm_mod
rm -rf "$tree"/{boot,vmlinuz,initrd.img}{,.old}
mkdir "$tree/boot"
# Newer than /usr, or systemd takes the start for the first after an update and rebuilds its caches.
touch "$tree"/etc/.updated "$tree"/var/.updated
