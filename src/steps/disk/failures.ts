import { failuresOf, type FailureTable } from '../../model/failure.ts';

/**
 * Failures of a disk, detected before anything is written to it if possible, and of the boot entry
 * of the firmware. A failure of the boot entry never ends an installation; it is a warning.
 */
export const diskFailures = {
  'disk.unreadable': {
    kind: 'host',
    title: 'The disks of the host cannot be listed',
    hint: 'run lsblk --json on the host',
  },
  'disk.not-supported': {
    kind: 'input',
    title: 'The live image is older than what is supported',
    hint: 'boot the host from a live image of OpenShift 4.14 or newer (RHEL 9, util-linux 2.37)',
  },
  'disk.missing': {
    kind: 'input',
    title: 'The install disk was not found',
    hint: 'choose a disk of the message as the installation disk of this host at the service, or with --boot-device (disk.device), preferably by its /dev/disk/by-id/ name',
  },
  'disk.changed': {
    kind: 'host',
    isFinal: true,
    title: 'Another disk has taken the name of the install disk',
    hint: 'compare lsblk --output NAME,SERIAL,WWN,SIZE with the message; while nothing has been removed from a disk, run the same "podman run" line again, and the disk is found under its new name; after that, connect the disk again, or boot the host again and install it from the beginning',
  },
  'disk.not-one': {
    kind: 'input',
    title: 'Not exactly one disk fits disk.hints',
    hint: 'correct disk.hints by the disks in the message: bootwright doctor prints the hints of each disk of the host',
  },
  'disk.not-whole': {
    kind: 'input',
    title: 'The install disk is not a whole disk',
    hint: 'set the install disk to the disk itself, not to a partition, a volume or an optical drive',
  },
  'disk.multipath-member': {
    kind: 'input',
    title: 'The install disk is one path of a multipath device',
    hint: 'set the install disk to the multipath device instead of one of its paths',
  },
  'disk.not-the-one': {
    kind: 'input',
    title: 'The name of the install disk points to another disk',
    hint: 'compare /dev/disk/by-id on the host with the inventory of this host; the links may be stale',
  },
  'disk.ambiguous': {
    kind: 'input',
    title: 'The name of the install disk fits more than one disk',
    hint: 'set the install disk to a name that only one of them has: by serial number, or by place (/dev/disk/by-path); if they are paths of one disk, start multipathd and use the multipath device',
  },
  'disk.locked': {
    kind: 'host',
    title: 'Another installation is running on this disk',
    hint: 'wait until the other run and its coreos-installer or blkdiscard have ended, or stop them, then run the same "podman run" line again',
  },
  'disk.read-only': {
    kind: 'host',
    title: 'The install disk is read-only',
    hint: 'remove the write protection, or choose another disk',
  },
  'disk.too-small': {
    kind: 'input',
    title: 'The install disk is too small',
    hint: 'choose a larger disk',
  },
  'disk.is-live-medium': {
    kind: 'input',
    title: 'The running system is on the install disk',
    hint: 'choose another disk, or boot the host from a medium other than the install disk',
  },
  'disk.busy': {
    kind: 'host',
    title: 'The install disk is in use',
    hint: 'unmount or stop what the message names, or what lsblk shows on the disk and its partitions (umount, swapoff, vgchange --activate n, mdadm --stop, multipath -f, zpool export), then run the same "podman run" line again',
  },
  'disk.other-system': {
    kind: 'input',
    title:
      'Another disk or a kept partition has a file system that the first boot would mount as its own',
    hint: 'its first boot stops while two file systems are labelled boot (coreos-unique-boot.service), and mounts any that is labelled root: if the disk is not needed, add it to disk.format (--format-disk) or wipe it (wipefs --all on its partitions); else label the file system otherwise, or disconnect the disk',
  },
  'disk.extra-refused': {
    kind: 'input',
    title: 'An additional disk must not be formatted',
    hint: 'remove the disk from the list of disks to format',
  },
  'disk.not-formatted': {
    kind: 'host',
    title: 'An additional disk could not be formatted',
    hint: 'remove its partition tables by hand (wipefs --all) if the host could boot an old system from it',
  },
  'disk.no-partition': {
    kind: 'media',
    title: 'A required partition is missing on the install disk',
    hint: 'check the partition types and labels on the host: lsblk --output NAME,PARTTYPE,PARTLABEL,LABEL',
  },
  'boot.no-loader': {
    kind: 'media',
    title: 'No boot loader was found on the EFI system partition',
    hint: 'select the install disk in the boot menu of the firmware, and check its EFI system partition',
  },
  'boot.not-set': {
    kind: 'host',
    title: 'The boot entry could not be created',
    hint: 'move the install disk to the top of the firmware boot order; delete old entries if NVRAM is full',
  },
  'boot.order-ignored': {
    kind: 'host',
    title: 'The firmware did not keep the new boot order',
    hint: 'move the install disk to the top of the firmware boot order before the host reboots, or remove the installation medium',
  },
  'disk.keep-refused': {
    kind: 'input',
    title: 'The partition table of the install disk cannot be read',
    hint: 'correct the partition table of the disk (sgdisk --verify), or copy the data elsewhere and keep none of its partitions',
  },
  'disk.keep-changed': {
    kind: 'host',
    isFinal: true,
    title: 'A partition that is to be kept has changed',
    hint: 'compare sfdisk --json of the disk with the message; nothing was written since: if the partitions are as they should be, boot the host again and install it from the beginning',
  },
  'disk.keep-wiped': {
    kind: 'input',
    title: 'The Ignition of this host wipes a partition that is to be kept',
    hint: 'set wipeTable, wipePartitionEntry, wipeFilesystem and wipeVolume to false in it for what is kept (in Butane wipe_table, …), name other partitions of the disk by label and not by number, which the write changes, and leave a kept partition out of its RAIDs; or take the partition out of disk.keep',
  },
  'disk.not-confirmed': {
    kind: 'input',
    title: 'The disk to erase is not confirmed',
    hint: 'give --confirm with the serial number of the disk; where it has none, or another disk has the same, with its WWN or its path',
  },
  'disk.keeps-partitions': {
    kind: 'input',
    title: 'The settings keep partitions of the disk to erase',
    hint: 'remove disk.keep, --save-partlabel and --save-partindex from the settings if nothing on the disk is needed any more',
  },
  'disk.not-wiped': {
    kind: 'host',
    title: 'The disk could not be erased',
    hint: 'remove the cause in the message and run the same "bootwright wipe" line again, which starts from the beginning; if the disk itself fails (journalctl -k), destroy it',
  },
  'image.writer-config': {
    kind: 'input',
    title: 'A configuration file for coreos-installer cannot be read',
    hint: 'check -c or --config-file in --installer-args: it names a YAML file on the host, not in the container',
  },
  'image.partition-missing': {
    kind: 'input',
    title: 'A partition that is to be kept is not on the disk',
    hint: 'correct disk.keep, --save-partlabel or --save-partindex, or set image.allowMissingPartitions where there may be none yet',
  },
} as const satisfies FailureTable;

/** Builds an error about a disk or its boot entry. */
export const diskFailure = failuresOf(diskFailures);
