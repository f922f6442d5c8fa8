#!/bin/bash
# usage: debian.sh ARCHITECTURE OUT.tar [SUITE [OPTION-OF-MMDEBSTRAP...]]
# Makes the base of the agent's image from packages of Debian, of trixie unless another suite is given, for amd64, arm64, ppc64le
# or s390x: unpacked and never run, so the architecture need not be this machine's. The packages that files were taken of are
# listed in usr/share/sbom/base.txt.
set -euo pipefail
architecture=${1/ppc64le/ppc64el} out=$(realpath "$2")
shift 2
suite=${1:-trixie}
here=$(dirname "$(realpath "$0")")
work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT
umask 022

mmdebstrap --mode=root --variant=extract --architectures="$architecture" --skip=cleanup/apt "${@:2}" \
  --include=base-files,bsdutils,ca-certificates,coreutils,libgcc-s1,libstdc++6,util-linux \
  "$suite" "$work/system" "$("$here/../../scripts/os/mirror.sh" "$suite")"
"$here/choose.sh" "$work/system" "$work/base" | sort --unique > "$work/chosen"

mkdir -p "$work/base/usr/share/sbom"
for deb in "$work"/system/var/cache/apt/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$deb" | tar --list | sed 's|^\./||' | sort > "$work/files"
  [ -n "$(comm -12 "$work/files" "$work/chosen")" ] || continue
  name=$(dpkg-deb --field "$deb" Package)
  # Names and versions have + and :, which mean something else in such a name (package-url/purl-spec).
  dpkg-deb --show --showformat='${Package}@${Version}' "$deb" | sed 's/+/%2B/g; s/:/%3A/g; s|^|pkg:deb/debian/|'
  dpkg-deb --show --showformat='?arch=${Architecture}&distro='"$suite\n" "$deb"
  mkdir -p "$work/base/usr/share/doc/$name"
  cp --dereference "$work/system/usr/share/doc/$name/copyright" "$work/base/usr/share/doc/$name/"
done > "$work/base/usr/share/sbom/base.txt"

tar --create --file "$out" --directory "$work/base" --sort=name --numeric-owner --owner=0 --group=0 --mtime=@0 .
