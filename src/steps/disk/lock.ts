import { seconds } from '../../model/duration.ts';
import { writesDisk } from '../conditions.ts';
import { step } from '../step.ts';
import { TargetDisk } from './facts.ts';
import { diskFailure } from './failures.ts';

/** Name of the lock of a disk; by device number (`8-0`), since a disk has many names. */
export const lockName = ({ majorMinor }: TargetDisk): string =>
  `bootwright-disk-${majorMinor.replace(':', '-')}`;

/**
 * Takes the disk for this run. coreos-installer holds no lock of its own, two of them would write
 * side by side. The lock lives as long as the process, so it is taken again in each run.
 */
export const lock = step({
  id: 'disk/lock',
  title: 'Lock the install disk against other installations',
  uses: ['host'],
  needs: { disk: TargetDisk },
  when: writesDisk,
  rerun: 'always',
  limit: seconds(30),
  run: async ({ host, signal }, { disk }) => {
    const held = await host.lock(lockName(disk), signal);
    if (held !== undefined) return;
    throw diskFailure('disk.locked', `another installation holds ${disk.path}`, {
      context: { disk: disk.path, lock: lockName(disk) },
    });
  },
});
