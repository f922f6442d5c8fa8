import { minutes, seconds } from '../../model/duration.ts';
import { osFailure } from '../../os/failures.ts';
import { freeSpaceArgv, neededBytes, readFreeBytes } from '../../os/space.ts';
import { Plan } from './facts.ts';
import { step } from './step.ts';

/** Checks that what is to be pulled fits, where its size is known. */
export const checkSpace = step({
  id: 'os/check-space',
  title: 'Check that the image fits',
  uses: ['host'],
  needs: { plan: Plan },
  limit: minutes(1),
  preview: () => [freeSpaceArgv],
  skipIf: ({ plan: { kind, missingBytes } }) => {
    if (kind === 'nothing' || kind === 'keep') return 'no image is to be pulled';
    return missingBytes === undefined ? 'the size of the image is not known' : undefined;
  },
  run: async ({ host, signal }, { plan: { missingBytes = 0 } }) => {
    const { stdout } = await host.exec(freeSpaceArgv, { signal, limit: seconds(30) });
    const free = readFreeBytes(stdout);
    const needed = neededBytes(missingBytes);
    if (free === undefined || free >= needed) return;
    throw osFailure(
      'os.no-space',
      `/sysroot has ${mebibytes(free)} MiB free, and ${mebibytes(needed)} MiB are needed`,
      { context: { free, needed, pulled: missingBytes } },
    );
  },
});

const mebibytes = (bytes: number): number => Math.ceil(bytes / (1024 * 1024));
