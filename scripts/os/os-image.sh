#!/bin/bash
# usage: os-image.sh OUT ARCHIVE OSTREE_CONTAINER REPO
# Makes OUT/oci, the commit of Lab CoreOS as a container image "base": what a release of a cluster has for its nodes.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
out=$1 tree=$1/tree
"$here/unpack.sh" "$2" "$tree"
install -D -m 0755 "$3" "$tree/usr/libexec/libostree/ext/ostree-container"
"$here/in-root.sh" "$tree" --bind "$out=/run/out" --bind "$4=/run/repo" -- \
  ostree container encapsulate --repo=/run/repo labcoreos/x86_64/stable oci:/run/out/oci:base
rm -rf --one-file-system "$tree"
