#!/bin/bash
# usage: archive.sh TREE OUT.tar.zst
# Packs a system tree without what belongs to a running system or can be fetched again, and without what
# packages/left-out.txt names, which no test needs: a guest would have to write large files, to hash and to read them, and
# each deployment by ostree links and looks at every file. The tree is read through a bind mount of its own, which leaves
# out what is mounted in it: the kernel's /sys changes while it is read, and tar then fails.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
if [ -z "${ARCHIVE_OWN_MOUNTS:-}" ]; then
  ARCHIVE_OWN_MOUNTS=1 exec unshare --mount --propagation private "$0" "$@"
fi
view=$(mktemp -d)
trap 'umount "$view"; rmdir "$view"' EXIT
mount --bind "$1" "$view"
tar -C "$view" --one-file-system --xattrs '--xattrs-include=*' --sort=name \
  --exclude='./dev/*' --exclude='./run/*' --exclude='./tmp/*' \
  --wildcards --exclude-from="$here/packages/left-out.txt" --exclude='./var/cache/*' --exclude='./var/lib/apt/lists/*' \
  -cf - . | zstd -q -T0 -3 -f -o "$2"
