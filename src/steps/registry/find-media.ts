import { seconds } from '../../model/duration.ts';
import { writesDisk } from '../conditions.ts';
import { step } from '../step.ts';
import { RegistryMedia } from './facts.ts';

/** Asks for the registry on the live medium. */
export const statArgv = ['stat', '/run/media/iso/registry'] as const;

/** Looks whether the live medium carries a registry. */
export const findMedia = step({
  id: 'registry/find-media',
  title: 'Look for a registry on the live medium',
  uses: ['host'],
  gives: RegistryMedia,
  when: writesDisk,
  limit: seconds(30),
  preview: () => [statArgv],
  run: async ({ host, signal }) => {
    const { exitCode } = await host.exec(statArgv, {
      signal,
      limit: seconds(20),
      accept: [0, 1],
    });
    return { isPresent: exitCode === 0 };
  },
});
