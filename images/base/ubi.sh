#!/bin/bash
# usage: ubi.sh OUT
# Makes the base of the agent's image of the system that it runs in, Red Hat's ubi9. The packages that files were taken of are
# listed in usr/share/sbom/base.txt.
set -euo pipefail
out=$1
bash "$(dirname "$0")/choose.sh" / "$out" > /tmp/chosen
mkdir -p "$out"/usr/share/{sbom,licenses}
cd /
mapfile -t files < /tmp/chosen
rpm --query --file --queryformat '%{NAME} %{VERSION}-%{RELEASE} %{ARCH}\n' "${files[@]}" | sort --unique > /tmp/packages
while read -r name version arch; do
  # Names and versions have +, which means something else in such a name (package-url/purl-spec).
  echo "pkg:rpm/redhat/${name//+/%2B}@${version//+/%2B}?arch=$arch&distro=rhel-9"
  [ ! -d "/usr/share/licenses/$name" ] || cp -r "/usr/share/licenses/$name" "$out/usr/share/licenses/"
done < /tmp/packages > "$out/usr/share/sbom/base.txt"
# What was chosen is enough to start its programs.
for program in nsenter logger; do chroot "$out" /usr/bin/env "$program" --version; done
