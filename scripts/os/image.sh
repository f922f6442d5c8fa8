#!/bin/bash
# usage: image.sh OUT ARCHIVE OSTREE_CONTAINER REPO
# Makes OUT/oci, a container image "final" of Lab CoreOS with one more file: what a cluster would have its nodes run.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
out=$1 tree=$1/tree
"$here/unpack.sh" "$2" "$tree"
install -D -m 0755 "$3" "$tree/usr/libexec/libostree/ext/ostree-container"
# Objects are never written to, so links to those of the other repository will do.
cp -al "$4" "$out/repo"
install -D -m 0644 /dev/stdin "$out/change/usr/share/labcoreos/layers/final" <<< final
"$here/in-root.sh" "$tree" --bind "$out=/run/out" -- bash -euc '
  ostree --repo=/run/out/repo commit --branch=final --tree=ref="$0" --tree=dir=/run/out/change --bootable \
    --add-metadata-string=version=1.0.1 --timestamp="2025-01-02 00:00:00 +0000" --subject="Lab CoreOS 1.0.1"
  ostree container encapsulate --repo=/run/out/repo final oci:/run/out/oci:final
' labcoreos/x86_64/stable
rm -rf --one-file-system "$tree" "$out/repo" "$out/change"
