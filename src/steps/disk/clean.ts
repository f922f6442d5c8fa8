import { minutes } from '../../model/duration.ts';
import { step } from '../step.ts';
import { isUnformatted } from './block-devices.ts';
import { emptyDisk, emptyingPreview } from './empty.ts';
import { TargetDisk } from './facts.ts';
import { cleansDisk } from './guards.ts';
import { readWriterSetup } from './writer-args.ts';

/**
 * Removes LVM, RAID, device-mapper leftovers and signatures from the install disk. What cannot be
 * removed is reported, and left to coreos-installer to judge.
 */
export const cleanDisk = step({
  id: 'disk/clean',
  title: 'Remove what an earlier system left on the install disk',
  uses: ['host', 'clock'],
  needs: { disk: TargetDisk },
  when: cleansDisk,
  effect: 'destroys',
  limit: minutes(10),
  preview: (_config, { disk }) => emptyingPreview(disk.path),
  run: async (scope, { disk }) => {
    const { note, progress } = scope;
    if (isUnformatted(disk)) {
      note('info', `${disk.path} is not formatted; coreos-installer formats it`);
      return;
    }
    if ((await readWriterSetup(scope)).keepsPartitions) {
      note('info', `coreos-installer keeps partitions of ${disk.path}; it is not cleaned`);
      return;
    }
    const problems = await emptyDisk(scope, disk);
    if (problems.length === 0) return;
    // Triage tools look for the beginning of this line in the log.
    note('warn', `failed to prepare install device ${disk.path}, err ${problems.join('; ')}`);
    progress({
      info: `Could not clean install device ${disk.path}. The installation will continue. If the installation fails, clean the disk and try again`,
    });
  },
});
