#!/bin/bash
# usage: live-root.sh OUT ARCHIVE COREOS_INSTALLER OSTREE_CONTAINER
# Makes the live system on a disk of its own, OUT/live.raw, and OUT/vmlinuz and OUT/initrd.img to start it with.
set -euo pipefail
"$(dirname "$(realpath "$0")")/live-tree.sh" "$@"
mke2fs -q -t ext4 -L live -d "$1/tree" "$1/live.raw" 2G
rm -rf --one-file-system "$1/tree"
