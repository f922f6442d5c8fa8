# A partition of an earlier system with a file on it. $1: its number, $2: where it begins, $3: its size in MiB.
disk=/dev/disk/by-id/virtio-target
printf 'label: gpt\n%s : start=%sMiB, size=%sMiB, name=data\n' "$1" "$2" "$(($3 - 2))" | sfdisk --quiet "$disk"
udevadm settle
mkfs.ext4 -q -L data "$disk-part$1"
mkdir -p /run/kept
mount "$disk-part$1" /run/kept
head -c 16M /dev/urandom > /run/kept/data
echo "KEPT $(sha256sum < /run/kept/data)"
umount /run/kept
