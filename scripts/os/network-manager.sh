#!/bin/bash
# usage: network-manager.sh OUT
# Makes OUT/tree: Debian trixie's NetworkManager. Nothing in it is configured, nothing of it starts; it is for chroot.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
mmdebstrap --mode=root --variant=extract --format=directory --include=network-manager \
  --dpkgopt='path-exclude=/usr/share/*' \
  trixie "$1/tree" "$("$here/mirror.sh" trixie)"
