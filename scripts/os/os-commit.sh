#!/bin/bash
# usage: os-commit.sh OUT ARCHIVE OSTREE_CONTAINER
# Makes OUT/repo with the commit of Lab CoreOS, and its kernel and initramfs beside it.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
out=$1
tree=$out/tree shaped=$out/shaped
"$here/os-tree.sh" "$2" "$tree" "$3"
kernel=$(ls "$tree/usr/lib/modules")
"$here/in-root.sh" "$tree" --bind "$here=/run/os" --bind "$out=/run/out" -- \
  /run/os/initramfs.sh /run/out/initramfs.img "$kernel"
cp "$tree/boot/vmlinuz-$kernel" "$out/vmlinuz"
cp -al "$tree" "$shaped"
"$here/ostree-shape.sh" "$shaped" "$kernel" "$out/initramfs.img"
"$here/in-root.sh" "$tree" --bind "$out=/run/out" -- bash -euc '
  ostree --repo=/run/out/repo init --mode=bare
  ostree --repo=/run/out/repo commit --branch="$0" --tree=dir=/run/out/shaped --bootable \
    --add-metadata-string=version=1.0.0 --timestamp="2025-01-01 00:00:00 +0000" --subject="Lab CoreOS 1.0.0"
' labcoreos/x86_64/stable
rm -rf --one-file-system "$tree" "$shaped"
