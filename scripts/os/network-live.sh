#!/bin/bash
# usage: network-live.sh OUT ARCHIVE COREOS_INSTALLER OSTREE_CONTAINER
# Makes the live system as a network start has it: OUT/vmlinuz, OUT/initramfs.img, which runs Ignition, and OUT/rootfs.img.
# It is that of live-tree.sh without its job, and with podman, its generator of units, and drivers of SCSI disks.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
out=$1 tree=$1/tree more=$1/more
"$here/live-tree.sh" "$@"
mmdebstrap --mode=root --variant=extract --aptopt='APT::Install-Recommends "false"' \
  --include=podman,crun,ignition,linux-image-cloud-amd64 trixie "$more" "$("$here/mirror.sh" trixie)"

programs=(usr/bin/{podman,conmon,crun} usr/lib/podman/netavark usr/libexec/podman/quadlet)
tar -C "$more" -cf - "${programs[@]}" usr/lib/systemd/system-generators/podman-system-generator \
  etc/containers usr/share/containers | tar -C "$tree" -xpf -
missing() { chroot "$tree" ldd "${programs[@]/#//}" | awk '/not found/ { print $1 }' | sort -u; }
until [ -z "$(missing)" ]; do
  for library in $(missing); do cp "$more/usr/lib/x86_64-linux-gnu/$library" "$tree/usr/lib/x86_64-linux-gnu/"; done
done
cp "$more/usr/lib/dracut/modules.d/30ignition/ignition" "$tree/usr/libexec/"
install -m 0755 "$here/initramfs/99labcoreos/setfiles" "$tree/usr/sbin/"
cp -r "$here/network/tree/." "$tree/"
mkdir -p "$tree"/var/lib/{containers,images}
rm "$tree"/etc/systemd/system/multi-user.target.wants/live-job.service

# A kernel and its modules are of one version. Of these, those that a guest has a device or a file system for.
kernel=$(ls "$more/usr/lib/modules")
rm -rf "$tree"/usr/lib/modules/*
mv "$more/usr/lib/modules/$kernel" "$tree/usr/lib/modules/"
chroot "$tree" depmod "$kernel"
kept=(virtio_{pci,blk,net,rng,scsi} sd_mod ext4 xfs vfat nls_ascii nls_cp437 squashfs overlay loop dm_mod autofs4)
chroot "$tree" modprobe --all --show-depends --set-version "$kernel" "${kept[@]}" |
  awk '$1 == "insmod" { print $2 }' | sort -u > "$out/kept"
(cd "$tree" && find "lib/modules/$kernel/" -name "*.ko*") | grep -vxFf <(sed "s|^/||" "$out/kept") | sed "s|^|$tree/|" | xargs rm
chroot "$tree" depmod "$kernel"
mv "$more/boot/vmlinuz-$kernel" "$out/vmlinuz"
"$here/live/initrd.sh" "$tree" "$kernel" "$out/initramfs.img" "$here/network/initrd" \
  virtio_pci virtio_net squashfs loop overlay

# lz4 takes an emulated processor the least time.
mksquashfs "$tree" "$out/rootfs.img" -quiet -no-progress -comp lz4
rm -rf --one-file-system "$tree" "$more" "$out"/{kept,initrd.img}
