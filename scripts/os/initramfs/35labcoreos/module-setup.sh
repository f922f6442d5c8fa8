#!/bin/bash
# What CoreOS's own initramfs code does around Ignition, in the order of its units.

check() { return 255; }

depends() { echo systemd systemd-networkd ignition ostree; }

install() {
    local part wants=$initdir/$systemdsystemunitdir/ignition-complete.target.requires
    inst_multiple mount umount cp mkdir rm cat sed systemctl ip findmnt realpath touch
    inst_script "$moddir/setfiles" /usr/sbin/setfiles
    inst_simple "$moddir/writable-usr.conf" /etc/systemd/system.conf.d/10-labcoreos.conf
    inst_simple "$moddir/root.conf" /etc/cmdline.d/10-labcoreos-root.conf
    inst_multiple "$systemdsystemunitdir/service.d/10-emulated.conf" \
        "$systemdsystemunitdir/systemd-udev-trigger.service.d/10-emulated.conf" \
        /usr/lib/modules-load.d/emulated.conf
    mkdir -p "$wants"
    for part in user-config network mount-var populate-var; do
        inst_script "$moddir/$part" "/usr/sbin/labcoreos-$part"
        inst_simple "$moddir/labcoreos-$part.service" "$systemdsystemunitdir/labcoreos-$part.service"
        ln_r "../labcoreos-$part.service" "$systemdsystemunitdir/ignition-complete.target.requires/labcoreos-$part.service"
    done
}
