#!/bin/bash
# usage: xfs-root.sh CONTENT IMAGE START_MIB SIZE_MIB
# Puts a file system into a disk image, with the content of a folder: XFS with the label root, as RHCOS has it.
# mkfs.xfs itself keeps no hard links, and an ostree root is made of them, so the content is copied by the kernel. The
# mount is in a mount namespace of its own and the loop device belongs to the mount: both end with this script.
set -euo pipefail
if [ -z "${XFS_OWN_MOUNTS:-}" ]; then
  XFS_OWN_MOUNTS=1 exec unshare --mount --propagation private "$0" "$@"
fi
content=$1 image=$2 start=$3 size=$4
file=$image.root view=$image.view
mkdir "$view"
truncate -s "${size}M" "$file"
mkfs.xfs -q -L root "$file"
mount -t xfs -o loop "$file" "$view"
cp -a "$content/." "$view/"
# As ostree leaves it; whoever unpacked the content took the mark away.
chattr +i "$view"/ostree/deploy/*/deploy/*.0
umount "$view"
dd if="$file" of="$image" bs=1M seek="$start" conv=notrunc,sparse status=none
rm -r "$file" "$view"
