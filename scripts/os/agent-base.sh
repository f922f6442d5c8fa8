#!/bin/bash
# usage: agent-base.sh OUT ARCHITECTURE NODE NPM
# Makes OUT/root.tar, what the agent's image is built upon where no registry of images is in reach: Debian trixie for amd64 or
# arm64 with Node of these versions, and for this machine npm. What is for another architecture is unpacked and never run.
set -euo pipefail
out=$1 architecture=$2 node=$3 npm=$4
here=$(dirname "$(realpath "$0")")
work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT
cd "$work"
package=node-linux-${architecture/amd64/x64}
npm pack --silent "$package@$node" "npm@$npm"
mkdir -p usr/bin usr/lib/node_modules/npm
tar --extract --file "$package-$node.tgz" --strip-components=2 --directory usr/bin package/bin/node
tar --extract --file "npm-$npm.tgz" --strip-components=1 --directory usr/lib/node_modules/npm
ln -s ../lib/node_modules/npm/bin/npm-cli.js usr/bin/npm
variant=essential
[ "$architecture" = "$(dpkg --print-architecture)" ] || variant=extract
mmdebstrap --mode=root --variant=$variant --format=tar --architectures="$architecture" \
  --include=base-files,bsdutils,coreutils,libgcc-s1,libstdc++6,util-linux \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --customize-hook='rm -f "$1/etc/hostname" "$1/etc/resolv.conf"' \
  trixie "$out/root.tar" "$("$here/mirror.sh" trixie)"
tar --append --file "$out/root.tar" --owner=0 --group=0 usr
