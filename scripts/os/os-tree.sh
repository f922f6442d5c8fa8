#!/bin/bash
# usage: os-tree.sh ARCHIVE TREE OSTREE_CONTAINER
# Makes the tree of Lab CoreOS: Debian's packages and what CoreOS lays over its own.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
tree=$2
"$here/unpack.sh" "$1" "$tree" "$here/tree"
install -D -m 0755 "$3" "$tree/usr/libexec/libostree/ext/ostree-container"
ln -sf ../usr/lib/os-release "$tree/etc/os-release"
mkdir -p "$tree/usr/lib/dracut/modules.d"
tar -C "$here/initramfs" --owner=0 --group=0 --mode=u=rwX,go=rX -cf - . | tar -C "$tree/usr/lib/dracut/modules.d" -xpf -
"$here/emulated.sh" "$tree"
# Of the kernel's modules only some are there.
chroot "$tree" depmod "$(ls "$tree/usr/lib/modules")"
# libostree wants bwrap and semodule for every deployment that has a merge source and this file.
rm -f "$tree/etc/selinux/config"
rm -f "$tree"/etc/ssh/ssh_host_*
