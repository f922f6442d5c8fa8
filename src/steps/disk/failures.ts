import { failuresOf, type FailureTable } from '../../model/failure.ts';

/**
 * What can be wrong with a disk, found before anything is written to it wherever that is possible, and with
 * the boot entry of the firmware. Trouble with the boot entry never ends an installation; it is a warning.
 */
export const diskFailures = {
  'disk.unreadable': {
    kind: 'host',
    title: 'The disks of the host cannot be listed',
    hint: 'run lsblk on the host; it must be of util-linux 2.37 or newer',
  },
  'disk.missing': {
    kind: 'input',
    title: 'The install disk is not there',
    hint: 'name one of the disks that the message lists, best by /dev/disk/by-id/…',
  },
  'disk.not-whole': {
    kind: 'input',
    title: 'The install disk is not a whole disk',
    hint: 'name the disk itself, not a partition, a volume or an optical drive',
  },
  'disk.multipath-member': {
    kind: 'input',
    title: 'The install disk is one path of a multipath device',
    hint: 'name the multipath device instead of one of its paths',
  },
  'disk.not-the-one': {
    kind: 'input',
    title: 'The name of the install disk leads to another disk',
    hint: 'look at /dev/disk/by-id on the host and at the inventory of this host; the links may be old',
  },
  'disk.locked': {
    kind: 'host',
    title: 'Another installation of this disk is running',
    hint: 'wait until the other run has ended, or stop it, then run again',
  },
  'disk.read-only': {
    kind: 'host',
    title: 'The install disk cannot be written',
    hint: 'take off the write protection, or name another disk',
  },
  'disk.too-small': {
    kind: 'input',
    title: 'The install disk is too small',
    hint: 'name a larger disk',
  },
  'disk.is-live-medium': {
    kind: 'input',
    title: 'The running system lives on the install disk',
    hint: 'name another disk, or start the host from a medium that is not the install disk',
  },
  'disk.busy': {
    kind: 'host',
    title: 'Something on the host holds the install disk',
    hint: 'release what the message names: umount, swapoff, or stop the process; then run again',
  },
  'disk.extra-refused': {
    kind: 'input',
    title: 'A further disk was not formatted, because that would do harm',
    hint: 'take the disk off the list of disks to format',
  },
  'disk.not-formatted': {
    kind: 'host',
    title: 'A further disk could not be formatted',
    hint: 'wipe its partition tables by hand if an old system on it could start',
  },
  'disk.no-partition': {
    kind: 'media',
    title: 'A partition that the image must have is not on the install disk',
    hint: 'look at the partition types and labels on the host: lsblk --output NAME,PARTTYPE,PARTLABEL,LABEL',
  },
  'boot.no-loader': {
    kind: 'media',
    title: 'No boot loader was found on the EFI system partition',
    hint: 'choose the install disk in the boot menu of the firmware, and look at its partition of type EFI System',
  },
  'boot.not-set': {
    kind: 'host',
    title: 'The boot entry could not be made',
    hint: 'put the install disk first in the boot order of the firmware; remove old entries when its memory is full',
  },
  'boot.order-ignored': {
    kind: 'host',
    title: 'The firmware did not take the new boot order',
    hint: 'put the install disk first in the boot order of the firmware before the host restarts, or take out the installation medium',
  },
  'disk.will-not-boot': {
    kind: 'media',
    title: 'The install disk would not start into what was installed',
    hint: 'run the installation of this host again; if it comes again, look at the disk and its log in the kernel',
  },
} as const satisfies FailureTable;

/** Builds an error about a disk or its boot entry. */
export const diskFailure = failuresOf(diskFailures);
