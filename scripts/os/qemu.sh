#!/bin/bash
# usage: qemu.sh OUT
# Makes OUT/bin/qemu-system-x86_64 out of Debian trixie's packages, with its own libraries: it runs on any Debian.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
out=$1 root=$1/root
mmdebstrap --mode=root --variant=extract --include=qemu-system-x86,seabios \
  trixie "$root" "$("$here/mirror.sh" trixie)"
mkdir -p "$out"/{bin,usr/bin,usr/lib,usr/share}
mv "$root/usr/bin/qemu-system-x86_64" "$out/usr/bin/"
mv "$root/usr/lib/x86_64-linux-gnu" "$out/usr/lib/"
mv "$root"/usr/share/{qemu,seabios} "$out/usr/share/"
rm -rf --one-file-system "$root"
# The linker of the tree starts it, for the machine's own C library may be older.
cat > "$out/bin/qemu-system-x86_64" << 'END'
#!/bin/sh
usr=$(dirname "$(dirname "$(realpath "$0")")")/usr
export QEMU_MODULE_DIR="$usr/lib/x86_64-linux-gnu/qemu"
exec "$usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" --argv0 qemu-system-x86_64 \
  --library-path "$usr/lib/x86_64-linux-gnu" "$usr/bin/qemu-system-x86_64" \
  -L "$usr/share/qemu" -L "$usr/share/seabios" "$@"
END
chmod +x "$out/bin/qemu-system-x86_64"
"$out/bin/qemu-system-x86_64" --version
