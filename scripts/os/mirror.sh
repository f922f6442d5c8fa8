#!/bin/bash
# usage: mirror.sh SUITE
# Prints the apt source line for a Debian suite, from the mirror that this machine uses itself.
set -euo pipefail
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sort -u | grep -m1 '/debian/\?$' || true)
: "${mirror:?no Debian mirror among the apt sources of this machine; run apt-get update}"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main"
