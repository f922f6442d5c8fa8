#!/bin/bash
# usage: initrd.sh TREE KERNEL OUT FOLDER MODULE...
# Packs the smallest initrd that runs the init of a folder: busybox, that folder's files, and a handful of kernel modules.
set -euo pipefail
tree=$1 kernel=$2 out=$3 folder=$4
work=$tree/tmp/initrd
mkdir -p "$work"/{bin,modules,dev,proc,sys,root}
cp "$tree/usr/bin/busybox" "$work/bin/busybox"
cp -r "$folder/." "$work/"
# modprobe names every module with what it needs before it, in the order of loading.
for module in "${@:5}"; do
  chroot "$tree" modprobe --show-depends --set-version "$kernel" "$module"
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r path; do
  name=$(basename "${path%.xz}")
  case $path in *.xz) xz -d -c "$tree$path" ;; *) cat "$tree$path" ;; esac > "$work/modules/$name"
  echo "$name" >> "$work/modules/order"
done
chroot "$tree" busybox sh -c 'cd /tmp/initrd && find . | busybox cpio -o -H newc' | zstd -q -3 -f -o "$out"
rm -rf "$work"
