import { AgentError } from '../../model/failure.ts';
import { hours } from '../../model/duration.ts';
import { step, type StepScope } from '../step.ts';
import { emptyDisk, emptyingPreview } from './empty.ts';
import {
  type ExtraDisk,
  extraDisks,
  formatsExtraDisks,
  hasOtherSystem,
  otherSystems,
} from './guards.ts';
import { TargetDisk } from './facts.ts';
import { diskFailure } from './failures.ts';
import { readDisks } from './target.ts';

/**
 * Removes the partition tables of additional disks, so that the firmware boots none of them. A
 * failure of such a disk is a warning, as with the Go agent, unless what is still on it would stop
 * the first boot.
 */
export const formatExtraDisks = step({
  id: 'disk/format-extra',
  title: 'Remove the partition tables of additional disks',
  uses: ['host', 'clock'],
  needs: { disk: TargetDisk },
  when: formatsExtraDisks,
  effect: 'destroys',
  // Each disk that is busy is waited for.
  limit: hours(2),
  explain: ({ disk }) => disk.format.join(', '),
  preview: ({ disk }) => disk.format.flatMap(emptyingPreview),
  run: async (scope, { disk: target }) => {
    const found = await readDisks(scope.host, target, scope.signal);
    const disks = await extraDisks(scope, { ...found, extra: target.extra });
    for (const disk of disks) await formatOrWarn(scope, disk);
    const after = await readDisks(scope.host, target, scope.signal);
    const systems = otherSystems(after.roots, after.disk);
    if (systems.length > 0) throw hasOtherSystem(after.disk, systems);
  },
});

async function formatOrWarn(scope: StepScope<'host' | 'clock'>, disk: ExtraDisk): Promise<void> {
  try {
    if (disk.kind === 'missing')
      throw diskFailure('disk.not-formatted', `${disk.asked} is not a disk of this host`);
    if (disk.kind === 'refused') throw diskFailure('disk.extra-refused', disk.because);
    const problems = await emptyDisk(scope, disk.identity);
    if (problems.length > 0) throw diskFailure('disk.not-formatted', problems.join('; '));
    scope.note('info', `${disk.asked} has no partition table any more`);
  } catch (error) {
    scope.signal.throwIfAborted();
    if (!(error instanceof AgentError)) throw error;
    scope.note('warn', `${disk.asked} was not formatted: ${error.message}`, {
      code: error.code,
      hint: error.hint,
    });
  }
}
