#!/bin/bash
# usage: further-images.sh OUT
# Makes in OUT what tests build the agent's image for ppc64le and s390x of. No registry has Node 24 for these: it is the last Node
# that npm has, by the checksum of its package, packed as Node's maker does, once in each form. Beside it are bases, ppc64le.tar
# and s390x.tar. They are not of trixie: on 2026-11-26 the mirror in reach had not all packages of 13.8 for these architectures. The
# index of Debian testing ends with a date, which mirrors may be behind.
set -euo pipefail
out=$(realpath "$1") base=$(realpath "$(dirname "$0")/../../images/base") version=20.11.0
work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT
umask 022
cd "$work"
while read -r architecture form sha512; do
  npm pack --silent "node-linux-$architecture@$version"
  echo "$sha512  node-linux-$architecture-$version.tgz" | sha512sum --check
  name=node-v$version-linux-$architecture
  mkdir "$name"
  tar --extract --file "node-linux-$architecture-$version.tgz" --directory "$name" --strip-components=1
  XZ_DEFAULTS=-1 tar --create --auto-compress --file "$out/$name.tar.$form" "$name"
  "$base/debian.sh" "$architecture" "$out/$architecture.tar" forky --aptopt='Acquire::Check-Valid-Until "false"'
done << END
ppc64le gz c8362ccb46edccce52975a97a889dc080b54ca4654be4f829680bbbb0bd6470ad0e4af09e2612c828dfa1e479cf106bd41d1152ecdab1ec52a9fcd40b7e765b4
s390x xz d3417cf22fbd8d57b1a73c58043ad8fb15ea7b25375d6d49872a311aa49b9d46e670ecef6334928d5c5a40b7461cdb5abd9cb0376e34e7cb230aad2b54c1f367
END
