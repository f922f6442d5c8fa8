#!/bin/bash
# usage: toolchain-root.sh OUT
# Makes OUT/root, a Debian 12 tree with cargo and go.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
mmdebstrap --mode=root --variant=minbase \
  --include="$(grep -v '^#' "$here/packages/toolchain.txt" | paste -sd,)" \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  bookworm "$1/root" "$("$here/mirror.sh" bookworm)" "$("$here/mirror.sh" trixie-backports)"
ln -s /usr/lib/go-1.26/bin/go "$1/root/usr/local/bin/go"
