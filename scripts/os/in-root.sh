#!/bin/bash
# usage: in-root.sh ROOT [--bind SOURCE=/TARGET]... -- COMMAND...
# Runs a command inside a system tree, with /proc, /sys and /dev of this machine and the named folders and files.
# All mounts are in a mount namespace of their own: they end with the command, however it ends.
set -euo pipefail
if [ "${1:-}" != --inside ]; then
  unshare --mount true 2> /dev/null || { echo "in-root.sh: this machine does not let us mount (root and CAP_SYS_ADMIN are needed)" >&2; exit 1; }
  exec unshare --mount --propagation private -- "$0" --inside "$@"
fi
root=$2
shift 2
for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder"; done
while [ "$1" != -- ]; do
  source=${2%%=*} target=$root${2#*=}
  if [ -d "$source" ]; then mkdir -p "$target"; else mkdir -p "${target%/*}" && touch "$target"; fi
  mount --bind "$source" "$target"
  shift 2
done
shift
exec chroot "$root" env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"
