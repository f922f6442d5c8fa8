#!/bin/bash
# usage: ostree-shape.sh TREE KERNEL INITRAMFS
# Turns a Debian tree into the shape of an ostree commit: all in /usr, nothing in /var and /boot, links at the top.
set -euo pipefail
tree=$1 kernel=$2
install -m 0644 "$tree/boot/vmlinuz-$kernel" "$tree/usr/lib/modules/$kernel/vmlinuz"
install -m 0644 "$3" "$tree/usr/lib/modules/$kernel/initramfs.img"

# The initramfs is made. What it was made of, and units that only it or nobody starts, a node would read for nothing.
# A build of an image looks for Ignition here, as on RHCOS.
find "$tree/usr/lib/dracut" ! -type d ! -path '*/30ignition/ignition' -delete
find "$tree/usr/lib/dracut" -type d -empty -delete
# On the first boot PID 1 looks at each unit file, whether a preset enables it.
(
  cd "$tree/usr/lib/systemd/system"
  rm -rf apt-* cni-* cryptdisks* dpkg-* dracut-* e2scrub* fstrim* initrd-* ldconfig.service rc-local* rescue* x11-* \
    *xfs_scrub* {bluetooth,hibernate,hybrid-sleep,printer,sleep,smartcard,sound,storage-target-mode,usb-gadget}.target \
    runlevel* suspend* dev-*.mount proc-sys-* sys-{fs,kernel}-* system-update* \
    systemd-{backlight,battery,binfmt,boot,bsod,confext,firstboot,growfs,hibernate,hwdb,hybrid,initctl}* \
    systemd-{journal-catalog,localed,pcr,pstore,quotacheck,rfkill,soft-reboot,storagetm,suspend,sysext}* \
    systemd-{sysupdate,timedated,tpm2,update-done}*
)
rm "$tree/usr/lib/systemd/system-preset/90-systemd.preset"

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
# QEMU's name server.
echo nameserver 10.0.2.3 > "$tree/etc/resolv.conf"
echo 'LABEL=boot /boot ext4 ro,nodev,nosuid 0 0' > "$tree/etc/fstab"
# With it systemd does not rebuild on the first boot what was built here.
touch "$tree/etc/.updated"
mv "$tree/etc" "$tree/usr/etc"
