import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** What can go wrong with the copy of the registry that the live medium carries. */
export const registryFailures = {
  'registry.unreadable': {
    kind: 'media',
    title: 'The registry data on the live medium cannot be measured',
    hint: 'look at /mnt/agentdata on the host; the live medium may be damaged or not mounted',
  },
  'registry.disk-too-small': {
    kind: 'input',
    title: 'The install disk is too small for the registry data',
    hint: 'name a larger install disk',
  },
  'registry.not-grown': {
    kind: 'host',
    title: 'The root partition could not be made larger',
    hint: 'look at the partition table of the install disk: sgdisk --verify',
  },
} as const satisfies FailureTable;

/** Builds an error about the registry data. */
export const registryFailure = failuresOf(registryFailures);
