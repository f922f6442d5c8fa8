# Leaves on the target what earlier systems leave: a volume group with an active volume, and a running array.
disk=/dev/disk/by-id/virtio-target
printf 'label: gpt\nsize=512MiB\nsize=512MiB\n' | sfdisk --quiet "$disk"
udevadm settle
pvcreate --quiet "$disk-part1"
vgcreate --quiet old "$disk-part1"
lvcreate --quiet --yes --extents 8 --name root old
mdadm --create /dev/md/old --quiet --run --force --metadata=1.2 --level=1 --raid-devices=1 "$disk-part2"
udevadm settle
lsblk --noheadings --output TYPE "$disk" | sort -u | paste -sd ' '
