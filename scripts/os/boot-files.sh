#!/bin/bash
# usage: boot-files.sh BOOT OUT
# Adds to a folder what CoreOS has on its boot partition besides ostree's files, and makes GRUB's second stages
# OUT/core.img for BIOS and OUT/BOOTX64.EFI for UEFI.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
boot=$1 out=$2
mkdir -p "$boot"/{grub2,coreos,efi,grub}
: > "$boot/ignition.firstboot"
cp "$here/boot/platforms.json" "$boot/coreos/"
cp "$here"/boot/{grub.cfg,console.cfg} "$boot/grub2/"
echo 'source /grub2/grub.cfg' > "$boot/grub/grub.cfg"
for platform in i386-pc x86_64-efi; do
  mkdir "$boot/grub/$platform"
  cp "/usr/lib/grub/$platform"/*.{mod,lst} "$boot/grub/$platform/"
  # A function named linux runs until `insmod linux`, unless GRUB knows which module has the command.
  sed -i -E '/^\*?(linux|initrd):/d' "$boot/grub/$platform/command.lst"
done
modules=(part_gpt ext2 search search_label normal configfile echo test)
grub-mkimage -O i386-pc -o "$out/core.img" -c "$here/boot/first-stage.cfg" -p /grub biosdisk "${modules[@]}"
grub-mkimage -O x86_64-efi -o "$out/BOOTX64.EFI" -c "$here/boot/first-stage.cfg" -p /grub fat "${modules[@]}"
