import { AgentError } from '../../model/failure.ts';
import { minutes } from '../../model/duration.ts';
import { step, type StepScope } from '../step.ts';
import {
  type ExtraDisk,
  extraDisks,
  formatsExtraDisks,
  hasOtherSystem,
  otherSystems,
} from './guards.ts';
import { TargetDisk } from './facts.ts';
import { diskFailure } from './failures.ts';
import { waitUntilAlone } from './in-use.ts';
import { execOnTarget, isOtherDisk, readDisks } from './target.ts';
import { forgetTablesArgvs, tablesOf, takedownArgvs, wipefsListArgv } from './wipe.ts';

/**
 * Removes the partition tables of additional disks, so that the firmware boots none of them. A
 * failure of such a disk is a warning, as with the Go agent, unless what is still on it would stop
 * the first boot.
 */
export const formatExtraDisks = step({
  id: 'disk/format-extra',
  title: 'Remove the partition tables of additional disks',
  uses: ['host'],
  needs: { disk: TargetDisk },
  when: formatsExtraDisks,
  destroys: true,
  touches: ['disk:extra'],
  limit: minutes(20),
  explain: ({ disk }) => disk.format.join(', '),
  preview: ({ disk }) => disk.format.flatMap(previewOf),
  run: async (scope, { disk: target }) => {
    const found = await readDisks(scope.host, target, scope.signal);
    const disks = await extraDisks(scope, { ...found, extra: target.extra });
    for (const disk of disks) await formatOrWarn(scope, disk);
    const after = await readDisks(scope.host, target, scope.signal);
    const systems = otherSystems(after.roots, after.disk);
    if (systems.length > 0) throw hasOtherSystem(after.disk, systems);
  },
});

/** The commands for a disk of one partition, before it is looked at. */
const previewOf = (asked: string): readonly (readonly string[])[] => [
  ...forgetTablesArgvs(asked, {
    path: asked,
    ends: [0, '<end of the disk - 1 MiB>'],
    partitions: ['<partition>'],
  }),
  wipefsListArgv(asked),
];

async function formatOrWarn(scope: StepScope<'host'>, disk: ExtraDisk): Promise<void> {
  try {
    if (disk.kind === 'missing')
      throw diskFailure('disk.not-formatted', `${disk.asked} is not a disk of this host`);
    if (disk.kind === 'refused') throw diskFailure('disk.extra-refused', disk.because);
    await forgetTables(scope, disk);
  } catch (error) {
    scope.signal.throwIfAborted();
    if (!(error instanceof AgentError)) throw error;
    scope.note('warn', `${disk.asked} was not formatted: ${error.message}`, {
      code: error.code,
      hint: error.hint,
    });
  }
}

async function forgetTables(
  scope: StepScope<'host'>,
  { asked, device, identity }: ExtraDisk & { readonly kind: 'format' },
): Promise<void> {
  const { host, signal, note } = scope;
  await waitUntilAlone(scope, identity);
  const problems: string[] = [];
  // What uses the disk first: an array that is stopped later writes to its members again.
  const argvs = [...takedownArgvs(device), ...forgetTablesArgvs(device.path, tablesOf(device))];
  for (const argv of argvs) {
    try {
      await execOnTarget({ host, target: identity }, argv, { signal, limit: minutes(1) });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof AgentError) || isOtherDisk(error)) throw error;
      problems.push(error.message);
    }
  }
  const left = await host.exec(wipefsListArgv(device.path), { signal, limit: minutes(1) });
  if (left.stdout !== '') {
    throw diskFailure('disk.not-formatted', `wipefs still finds signatures: ${left.stdout}`);
  }
  if (problems.length > 0)
    note('debug', `${asked} is clean although commands failed: ${problems.join('; ')}`);
  note('info', `${asked} has no partition table any more`);
}
