#!/bin/bash
# usage: rootfs.sh OUT.tar
# Makes the root file system of Debian trixie that has what the agent's image needs of its base: nsenter and the
# certificates of the public authorities. Without apt, documentation and languages.
set -euo pipefail
top=$(dirname "$(realpath "$0")")/../..
mmdebstrap --mode=root --variant=essential --format=tar \
  --include=ca-certificates,libstdc++6,util-linux \
  --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  --customize-hook='rm -f "$1/etc/hostname" "$1/etc/resolv.conf"' \
  trixie "$1" "$("$top/scripts/os/mirror.sh" trixie)"
