#!/bin/bash
# usage: archive.sh TREE OUT.tar.zst
# Packs a system tree without what belongs to a running system or can be fetched again.
set -euo pipefail
tar -C "$1" --one-file-system --xattrs '--xattrs-include=*' --sort=name \
  --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*' --exclude='./run/*' --exclude='./tmp/*' \
  --exclude='./var/cache/*' --exclude='./var/lib/apt/lists/*' \
  -cf - . | zstd -q -T0 -3 -f -o "$2"
