import type { Config } from '../../config/schema.ts';
import { isActive } from '../../engine/condition.ts';
import { minutes } from '../../model/duration.ts';
import { writesDisk } from '../conditions.ts';
import { step, type StepScope } from '../step.ts';
import {
  cleansDisk,
  diskReadiness,
  extraDisks,
  hasOtherSystem,
  keptSystems,
  otherSystems,
  sharedWith,
  twinsOf,
} from './guards.ts';
import { type BlockDevice, lsblkArgv } from './block-devices.ts';
import { TargetDisk } from './facts.ts';
import { diskFailure } from './failures.ts';
import { openAloneArgv, requireAlone } from './in-use.ts';
import { findSaved, readTable, tableArgv } from './kept.ts';
import { readDisks, type Disks } from './target.ts';
import { mayKeepPartitions, readWriterSetup } from './writer-args.ts';

/**
 * Makes sure, before anything is lost, that the install disk can be written. Once the write has
 * begun a later run does not look again, since what it would find may be of its own making.
 */
export const checkDisk = step({
  id: 'disk/check',
  title: 'Check that the install disk is free and large enough',
  uses: ['host'],
  needs: { disk: TargetDisk },
  when: writesDisk,
  effect: 'reads',
  limit: minutes(5),
  preview: ({ image }, { disk }) => [
    lsblkArgv,
    ...(mayKeepPartitions(image.writerArgs) ? [tableArgv(disk.path)] : []),
    openAloneArgv(disk.path),
  ],
  run: async (scope, { disk: target }) => {
    const { host, signal, config, note } = scope;
    const { keepsPartitions, saved } = await readWriterSetup(scope);
    const { roots, disk } = await readDisks(host, target, signal);
    const { problem, remarks } = diskReadiness({
      disk,
      willBeCleaned: isActive<Config>(cleansDisk, config),
      keepsPartitions,
    });
    for (const remark of remarks) note('info', remark);
    if (problem !== undefined) throw problem;
    if (keepsPartitions && !config.image.allowMissingPartitions) {
      const partitions = await readTable(host, target, signal);
      const { missing } = findSaved(saved, partitions);
      const there = partitions.map(({ number, label }) => `${number} ${JSON.stringify(label)}`);
      if (missing.length > 0) {
        throw diskFailure(
          'image.partition-missing',
          `${disk.path} has no partition for ${missing.join(', ')}; it has ${there.join(', ') || 'none'}`,
          { context: { disk: disk.path, missing: missing.join(', ') } },
        );
      }
    }
    const { kept = [] } = target;
    if (kept.length > 0) {
      const names = kept.map(({ number, label }) => `${number} ${JSON.stringify(label)}`);
      const room = Math.min(...kept.map(({ startBytes }) => startBytes)) / gibibyte;
      note(
        'info',
        `${target.path} keeps partition ${names.join(', ')}; the operating system has the ${room.toFixed(1)} GiB before, and its root file system grows up to there at the first boot`,
      );
    }
    await requireAlone(scope, target);
    const extra = await extraDisks(scope, { roots, disk, extra: target.extra });
    const emptied = extra.flatMap((one) => (one.kind === 'format' ? [one.device] : []));
    warnOfOthers(scope, { roots, disk, emptied });
    for (const one of extra) {
      if (one.kind === 'refused')
        note('warn', `${one.asked} will not be formatted: ${one.because}`);
    }
    const systems = [...otherSystems(roots, disk, emptied), ...keptSystems(disk, target.kept)];
    if (systems.length > 0) throw hasOtherSystem(disk, systems);
  },
});

const gibibyte = 1024 ** 3;

/** Warns of what becomes of other disks, and of those that look the same. */
export function warnOfOthers(
  { note }: StepScope<'host'>,
  { roots, disk, emptied }: Disks & { readonly emptied: readonly BlockDevice[] },
): void {
  for (const shared of sharedWith(roots, disk, emptied)) note('warn', shared);
  for (const { path } of twinsOf(roots, disk)) {
    note(
      'warn',
      `${path} has the same serial number and WWN as ${disk.path}: a second path without multipath, or another disk that looks the same`,
    );
  }
}
