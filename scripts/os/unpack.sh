#!/bin/bash
# usage: unpack.sh ARCHIVE.tar.zst TREE [FILES]
# Unpacks a system tree and lays a folder of files over it; these belong to root whoever checked them out.
set -euo pipefail
mkdir -p "$2"
zstd -q -d -c "$1" | tar -C "$2" --xattrs '--xattrs-include=*' -xpf -
[ -z "${3:-}" ] || tar -C "$3" --owner=0 --group=0 --mode=u=rwX,go=rX -cf - . | tar -C "$2" --no-overwrite-dir -xpf -
