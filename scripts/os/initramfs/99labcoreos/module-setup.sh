#!/bin/bash
# What CoreOS's own initramfs code does around Ignition, in the order of its units.

check() { return 255; }

depends() { echo systemd systemd-networkd ignition ostree; }

install() {
    local part wants=$initdir/$systemdsystemunitdir/ignition-complete.target.requires
    inst_multiple mount umount cp mkdir rm cat sed systemctl ip findmnt realpath touch
    inst_script "$moddir/setfiles" /usr/sbin/setfiles
    inst_simple "$moddir/writable-usr.conf" /etc/systemd/system.conf.d/10-labcoreos.conf
    inst_simple "$moddir/sysroot.mount" "$systemdsystemunitdir/sysroot.mount"
    inst_multiple "$systemdsystemunitdir/service.d/10-emulated.conf" \
        "$systemdsystemunitdir/systemd-udev-trigger.service.d/10-emulated.conf"
    mkdir -p "$wants"
    for part in user-config network mount-var populate-var; do
        inst_script "$moddir/$part" "/usr/sbin/labcoreos-$part"
        inst_simple "$moddir/labcoreos-$part.service" "$systemdsystemunitdir/labcoreos-$part.service"
        ln_r "../labcoreos-$part.service" "$systemdsystemunitdir/ignition-complete.target.requires/labcoreos-$part.service"
    done
    leave_out
}

# As the last module this one takes away what the others brought and nothing here needs: dracut's hooks are hundreds of
# shells, and the drivers and libraries are read, unpacked and looked at on an emulated processor.
leave_out() {
    local modules=$initdir/lib/modules/$kernel/kernel
    rm -rf "$initdir/usr/lib/dracut/hooks" "$initdir/etc/systemd/system"/{initrd,multi-user,network-online,sockets}.target.wants
    rm -f "$initdir/$systemdsystemunitdir"/dracut-*.service "$initdir/$systemdsystemunitdir"/sysinit.target.wants/systemd-tmpfiles-setup.service
    rm -f "$initdir/usr/lib/systemd/system-generators"/{dracut-rootfs-generator,systemd-{debug,gpt-auto,hibernate-resume}-generator}
    rm -f "$initdir/usr/lib/udev/hwdb.bin" "$initdir/usr/bin/curl" "$initdir/usr/sbin"/{e2fsck,sgdisk,xfs_db,xfs_repair} \
        "$initdir/usr/lib/x86_64-linux-gnu"/libstdc++*
    find "$modules/drivers" -name '*.ko*' ! -name 'virtio*' ! -name '*failover*' ! -name 'cdrom*' -delete
    find "$modules/net" -name '*.ko*' ! -name '*failover*' -delete
}
