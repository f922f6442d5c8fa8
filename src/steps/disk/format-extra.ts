import { AgentError } from '../../model/failure.ts';
import { hours } from '../../model/duration.ts';
import { step, type StepScope } from '../step.ts';
import { emptyDisk, emptyingPreview } from './empty.ts';
import { extraDisks, formatsExtraDisks, hasOtherSystem, otherSystems } from './guards.ts';
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
    const { host, config, signal } = scope;
    const decisions = await extraDisks(scope, await readDisks(host, target, signal), target.extra);
    for (const asked of config.disk.format) {
      const decided = decisions.find(({ identity }) => identity.asked === asked);
      await formatOrWarn(scope, asked, decided);
    }
    const after = await readDisks(host, target, signal);
    const systems = otherSystems(after.roots, after.disk);
    if (systems.length > 0) throw hasOtherSystem(after.disk, systems);
  },
});

async function formatOrWarn(
  scope: StepScope<'host' | 'clock'>,
  asked: string,
  decided: Awaited<ReturnType<typeof extraDisks>>[number] | undefined,
): Promise<void> {
  try {
    if (decided === undefined)
      throw diskFailure('disk.not-formatted', `${asked} is not a disk of this host`);
    if (decided.found instanceof AgentError) throw decided.found;
    const problems = await emptyDisk(scope, decided.identity);
    if (problems.length > 0) throw diskFailure('disk.not-formatted', problems.join('; '));
    scope.note('info', `${asked} has no partition table any more`);
  } catch (error) {
    scope.signal.throwIfAborted();
    if (!(error instanceof AgentError)) throw error;
    scope.note('warn', `${asked} was not formatted: ${error.message}`, {
      code: error.code,
      hint: error.hint,
    });
  }
}
