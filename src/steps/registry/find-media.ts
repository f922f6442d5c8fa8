import { seconds } from '../../model/duration.ts';
import { writesDisk } from '../conditions.ts';
import { step } from '../step.ts';
import * as z from 'zod';
import { fact } from '../../engine/fact.ts';
import { failuresOf, type FailureTable } from '../../model/failure.ts';
import { isTrue } from '../host-commands.ts';

/** What can go wrong with the copy of the registry that the live medium carries. */
export const registryFailures = {
  'registry.unreadable': {
    kind: 'media',
    title: 'The size of the registry data on the live medium could not be read',
    hint: 'check /mnt/agentdata on the host; the live medium may be damaged or not mounted',
  },
  'registry.disk-too-small': {
    kind: 'input',
    title: 'The install disk is too small for the registry data',
    hint: 'choose a larger install disk',
  },
  'registry.not-grown': {
    kind: 'host',
    title: 'The root partition could not be grown',
    hint: 'check the partition table of the install disk: sgdisk --verify',
  },
  'registry.root-lost': {
    kind: 'host',
    isFinal: true,
    title: 'The root file system was lost while it was recreated for the registry',
    hint: 'boot the host again and install it from the beginning; check its memory and the install disk (journalctl -k)',
  },
} as const satisfies FailureTable;

/** Builds an error about the registry data. */
export const registryFailure = failuresOf(registryFailures);

const RegistryMediaSchema = z.object({
  /** The live medium carries a registry: an appliance, or a disconnected installation. */
  isPresent: z.boolean(),
});

/** Whether there is registry data to copy. */
export const RegistryMedia = fact('registry.media', RegistryMediaSchema);
export type RegistryMedia = z.infer<typeof RegistryMediaSchema>;

/** Asks for the registry on the live medium. */
export const findRegistryArgv = ['stat', '/run/media/iso/registry'] as const;

/** Looks whether the live medium carries a registry. */
export const findRegistryMedia = step({
  id: 'registry/find-media',
  title: 'Look for a registry on the live medium',
  uses: ['host'],
  gives: RegistryMedia,
  when: writesDisk,
  limit: seconds(30),
  preview: () => [findRegistryArgv],
  run: async (scope) => ({ isPresent: await isTrue(scope, findRegistryArgv) }),
});
