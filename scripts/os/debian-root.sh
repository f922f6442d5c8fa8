#!/bin/bash
# usage: debian-root.sh OUT
# Makes OUT/root.tar, a root file system of Debian trixie with a shell and the certificates of the public authorities, without apt,
# documentation and languages.
set -euo pipefail
mmdebstrap --mode=root --variant=essential --format=tar \
  --include=ca-certificates,libstdc++6,util-linux \
  --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  --customize-hook='rm -f "$1/etc/hostname" "$1/etc/resolv.conf"' \
  trixie "$1/root.tar" "$("$(dirname "$0")/mirror.sh" trixie)"
