import type { Config } from '../../config/schema.ts';
import { isActive } from '../../engine/condition.ts';
import { minutes } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
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
import { type KeptPartition, TargetDisk } from './facts.ts';
import { diskFailure } from './failures.ts';
import { openAloneArgv, requireAlone } from './in-use.ts';
import { findSaved, readTable, tableArgv } from './kept.ts';
import { readDisks, type Disks } from './target.ts';
import { mayKeepPartitions, readWriterSetup } from './writer-args.ts';

/**
 * Checks, before any data is lost, that the install disk can be written. After the write has begun,
 * a later run skips the check: the run itself may have caused the state of the disk.
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
    const disks = await readDisks(host, target, signal);
    const { roots, disk } = disks;
    const willBeCleaned = isActive<Config>(cleansDisk, config);
    const { problem, remarks } = diskReadiness(disks, { willBeCleaned, keepsPartitions });
    for (const remark of remarks) note('info', remark);
    if (problem !== undefined) throw problem;
    if (keepsPartitions && !config.image.allowMissingPartitions) {
      const partitions = await readTable(host, target, signal);
      const missing = findSaved(saved, partitions).missing.join(', ');
      if (missing !== '') {
        const what = `${disk.path} has no partition for ${missing}; it has ${listOf(partitions)}`;
        const context = { disk: disk.path, missing };
        throw diskFailure('image.partition-missing', what, { context });
      }
    }
    const { kept = [] } = target;
    if (kept.length > 0) {
      const room = Math.min(...kept.map(({ startBytes }) => startBytes)) / gibibyte;
      note(
        'info',
        `${target.path} keeps partition ${listOf(kept)}; the operating system has the ${room.toFixed(1)} GiB before, and its root file system grows up to there at the first boot`,
      );
    }
    await requireAlone(scope, target);
    const emptied: BlockDevice[] = [];
    const refused: string[] = [];
    for (const { identity, found } of await extraDisks(scope, disks, target.extra)) {
      if (found instanceof AgentError)
        refused.push(`${identity.asked} will not be formatted: ${found.message}`);
      else emptied.push(found);
    }
    warnOfOthers(scope, disks, emptied);
    for (const reason of refused) note('warn', reason);
    const systems = [...otherSystems(roots, disk, emptied), ...keptSystems(disk, kept)];
    if (systems.length > 0) throw hasOtherSystem(disk, systems);
  },
});

const listOf = (partitions: readonly KeptPartition[]): string =>
  partitions.map(({ number, label }) => `${number} ${JSON.stringify(label)}`).join(', ') || 'none';

const gibibyte = 1024 ** 3;

/** Warns about effects on other disks, and about disks that look the same. */
export function warnOfOthers(
  { note }: StepScope<'host'>,
  { roots, disk }: Disks,
  emptied: readonly BlockDevice[] = [],
): void {
  for (const shared of sharedWith(roots, disk, emptied)) note('warn', shared);
  for (const { path } of twinsOf(roots, disk)) {
    note(
      'warn',
      `${path} has the same serial number and WWN as ${disk.path}: a second path without multipath, or another disk that looks the same`,
    );
  }
}
