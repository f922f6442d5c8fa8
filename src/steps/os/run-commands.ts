import { minutes } from '../../model/duration.ts';
import type { Argv } from '../../os/driver.ts';
import type { NodeScope } from './step.ts';

/** A pull of a whole image over a slow line. */
const pullLimit = minutes(60);

/** Runs commands that change the host, one after the other; what they say is the step's progress. */
export async function runCommands(
  { host, signal, progress }: Pick<NodeScope, 'host' | 'signal' | 'progress'>,
  argvs: readonly Argv[],
): Promise<void> {
  for (const argv of argvs) {
    await host.exec(argv, {
      signal,
      limit: pullLimit,
      onLine: (line) => {
        if (line.trim() !== '') progress({ info: line.trim().slice(0, 200) });
      },
    });
  }
}
