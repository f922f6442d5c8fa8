#!/bin/bash
# usage: image-registry.sh OUT
# Gets OUT/bin/docker-registry out of the Debian package of that name, which as a package would start a service.
set -euo pipefail
cd "$1"
apt-get download docker-registry || { apt-get update && apt-get download docker-registry; }
mkdir bin
dpkg-deb --fsys-tarfile docker-registry_*.deb | tar -xf - --strip-components=3 -C bin ./usr/bin/docker-registry
rm docker-registry_*.deb
