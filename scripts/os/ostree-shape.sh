#!/bin/bash
# usage: ostree-shape.sh TREE KERNEL INITRAMFS
# Turns a Debian tree into the shape of an ostree commit: all in /usr, nothing in /var and /boot, links at the top.
set -euo pipefail
tree=$1 kernel=$2
install -m 0644 "$tree/boot/vmlinuz-$kernel" "$tree/usr/lib/modules/$kernel/vmlinuz"
install -m 0644 "$3" "$tree/usr/lib/modules/$kernel/initramfs.img"
# dpkg's database must not lie in /var, which a commit has none of.
mkdir -p "$tree/usr/lib/sysimage"
mv "$tree/var/lib/dpkg" "$tree/usr/lib/sysimage/dpkg"
echo 'admindir=/usr/lib/sysimage/dpkg' > "$tree/etc/dpkg/dpkg.cfg.d/ostree"

rm -rf "$tree"/{vmlinuz,initrd.img}{,.old} "$tree"/{boot,dev,proc,sys,run,tmp,var,home,opt,srv,mnt,media,root,usr/local}
mkdir "$tree"/{boot,dev,proc,sys,run,tmp,var,sysroot}
for folder in home opt srv mnt media; do ln -s "var/$folder" "$tree/$folder"; done
ln -s var/roothome "$tree/root"
ln -s ../var/usrlocal "$tree/usr/local"
ln -s sysroot/ostree "$tree/ostree"

# Every file that is replaced here is removed first: the tree shares its files with another by hard links.
rm -f "$tree"/etc/{machine-id,hostname,fstab,resolv.conf}
# "uninitialized" lets PID 1 apply the unit presets on the first boot, Ignition's among them.
echo uninitialized > "$tree/etc/machine-id"
echo labcoreos > "$tree/etc/hostname"
# Without this line systemd-gpt-auto mounts the EFI partition on /boot.
echo 'LABEL=boot /boot ext4 ro,nodev,nosuid 0 2' > "$tree/etc/fstab"
# With it systemd does not rebuild on the first boot what was built here.
touch "$tree/etc/.updated"
mv "$tree/etc" "$tree/usr/etc"
