#!/bin/bash
# usage: rootfs.sh OUT
# Makes two Debian trixie trees as archives: OUT/os.tar.zst (Lab CoreOS) and OUT/live.tar.zst (the same and
# what the live system has besides). OUT/packages.txt says which versions came.
set -euo pipefail
out=$1
here=$(dirname "$(realpath "$0")")
suite=trixie
packages() { grep -v '^#' "$here/packages/$1.txt" | paste -sd,; }

# Every program below runs on the tree by chroot. An apt or dpkg called plainly in a hook works on this machine.
inside='chroot "$1" env DEBIAN_FRONTEND=noninteractive'
archive() { echo "$here/archive.sh \"\$1\" $out/$1.tar.zst"; }

mmdebstrap --mode=root --variant=minbase --format=null \
  --include="$(packages os)" \
  --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  --customize-hook="$(archive os)" \
  --customize-hook="$inside apt-get install --yes --no-install-recommends $(packages live | tr , ' ')" \
  --customize-hook="$inside bash -euc \"\$(cat $here/growpart.sh)\"" \
  --customize-hook="$(archive live)" \
  --customize-hook="$inside dpkg-query -W > $out/packages.txt" \
  "$suite" /dev/null "$("$here/mirror.sh" "$suite")"
