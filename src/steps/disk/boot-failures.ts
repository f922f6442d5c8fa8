import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Trouble with the boot entry of the firmware. None of it ends an installation; all is told. */
export const bootFailures = {
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
} as const satisfies FailureTable;

/** Builds an error about the boot entry. */
export const bootFailure = failuresOf(bootFailures);
