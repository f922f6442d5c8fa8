#!/bin/bash
# usage: initrd.sh TREE KERNEL OUT
# Packs the smallest initrd that can mount a virtio disk and set up the network: busybox and a handful of kernel modules.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
tree=$1 kernel=$2
work=$tree/tmp/initrd
mkdir -p "$work"/{bin,modules,dev,proc,sys,root}
cp "$tree/usr/bin/busybox" "$work/bin/busybox"
install -m 0755 "$here/init" "$work/init"
# Nothing else loads dm_mod where LVM asks for it: there is no list of static device nodes.
# modprobe names every module with what it needs before it, in the order of loading.
for module in virtio_pci virtio_blk virtio_net ext4 dm_mod; do
  chroot "$tree" modprobe --show-depends --set-version "$kernel" "$module"
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r path; do
  name=$(basename "${path%.xz}")
  case $path in *.xz) xz -d -c "$tree$path" ;; *) cat "$tree$path" ;; esac > "$work/modules/$name"
  echo "$name" >> "$work/modules/order"
done
chroot "$tree" busybox sh -c 'cd /tmp/initrd && find . | busybox cpio -o -H newc' | zstd -q -3 -f -o "$3"
rm -rf "$work"
