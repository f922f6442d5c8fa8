#!/bin/bash
# usage: choose.sh SYSTEM OUT
# Copies what the agent's image uses of a system's tree, and nothing else: nsenter, logger and env, the libraries of these and of
# Node, the authorities' certificates, and the files that the C library reads. Nothing of SYSTEM is run, so it may be one of
# another architecture. Prints the path in SYSTEM of each file that was copied. It needs readelf.
set -euo pipefail
system=${1%/} out=$2

# A link is copied as the file that it leads to, so that no name leads out of what is chosen.
take() {
  mkdir -p "$out/$(dirname "$1")"
  cp --dereference --preserve=mode "$system/$1" "$out/$1"
  realpath --relative-to="${system:-/}" "$system/$1"
}

library() {
  local path
  for path in "$system"/usr/lib64/"$1" "$system"/usr/lib/*/"$1"; do
    [ -e "$path" ] || continue
    path=${path#"$system"/}
    [ -e "$out/$path" ] || { take "$path"; libraries_of "$system/$path"; }
    return
  done
  echo "choose.sh: no library $1 in ${system:-/}" >&2
  exit 1
}

# The loader is there already when a library asks for it, by the path that programs name it by.
libraries_of() {
  local name names
  names=$(readelf --dynamic --wide "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  for name in $names; do
    case $name in ld-linux* | ld64.*) ;; *) library "$name" ;; esac
  done
}

# Where coreutils are one program, env is a script of one line that names it.
program() {
  take "$1"
  case $(head -c 2 "$system/$1" | tr -d '\0') in
    '#!') program "$(sed -n '1s|^#! */\([^ ]*\).*|\1|p' "$system/$1")" ;;
    *) libraries_of "$system/$1" ;;
  esac
}

for folder in bin sbin lib lib64; do
  [ ! -L "$system/$folder" ] || { mkdir -p "$out/usr/$folder" && ln -s "usr/$folder" "$out/$folder"; }
done
program usr/bin/nsenter
program usr/bin/env
program usr/bin/logger
loader=$(readelf --program-headers --wide "$system/usr/bin/nsenter" | sed -n 's/.*interpreter: \/\(.*\)\]/\1/p')
take "$loader"
# What Node is linked with (readelf --dynamic node); the rest is in it.
for name in libdl.so.2 libstdc++.so.6 libm.so.6 libgcc_s.so.1 libpthread.so.0 libc.so.6; do library "$name"; done

if [ -e "$system/etc/pki/tls/certs/ca-bundle.crt" ]; then
  take etc/pki/tls/certs/ca-bundle.crt
else
  # What update-ca-certificates makes of them.
  mkdir -p "$out/etc/ssl/certs"
  (cd "$system" && LC_ALL=C && ls usr/share/ca-certificates/mozilla/*.crt && cat usr/share/ca-certificates/mozilla/*.crt >&3) \
    3> "$out/etc/ssl/certs/ca-certificates.crt"
fi
take usr/lib/os-release
ln -s ../usr/lib/os-release "$out/etc/os-release"
mkdir -p "$out"/{dev,etc/pki,opt,proc,root,run,sys,tmp,var/log}
chmod 1777 "$out/tmp"
chmod 700 "$out/root"
echo 'root:x:0:0:root:/root:/usr/sbin/nologin' > "$out/etc/passwd"
echo 'root:x:0:' > "$out/etc/group"
echo 'hosts: files dns' > "$out/etc/nsswitch.conf"
