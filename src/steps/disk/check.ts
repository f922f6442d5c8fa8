import type { Config } from '../../config/schema.ts';
import { isActive } from '../../engine/condition.ts';
import { minutes } from '../../model/duration.ts';
import { writesDisk } from '../conditions.ts';
import { step, type StepScope } from '../step.ts';
import {
  cleansDisk,
  disksSharedWith,
  extraDisks,
  otherSystemDisks,
  diskReadiness,
  twinsOf,
} from './guards.ts';
import { TargetDisk } from './facts.ts';
import { type BlockDevice, lsblkArgv } from './lsblk.ts';
import { openersArgv, waitUntilClosed } from './in-use.ts';
import { readDisks } from './target.ts';
import { willKeepPartitions } from '../image/writer-args.ts';

/**
 * Makes sure, before anything is lost, that the install disk can be written. Once the write has begun a
 * later run does not look again, since what it would find may be of its own making; `image/write` waits for
 * a writer that an earlier run has left behind.
 */
export const checkDisk = step({
  id: 'disk/check',
  title: 'Check that the install disk is free and large enough',
  uses: ['host'],
  needs: { disk: TargetDisk },
  when: writesDisk,
  preflight: true,
  freshUntil: 'image/write',
  limit: minutes(5),
  preview: (_config, { disk }) => [lsblkArgv, openersArgv([disk.path])],
  run: async (scope, { disk: target }) => {
    const { host, signal, config, note } = scope;
    const keepsPartitions = await willKeepPartitions(scope);
    const { roots, disk } = await readDisks(host, target, signal);
    const { problem, remarks } = diskReadiness({
      disk,
      willBeCleaned: isActive<Config>(cleansDisk, config),
      keepsPartitions,
    });
    for (const remark of remarks) note('info', remark);
    if (problem !== undefined) throw problem;
    await waitUntilClosed(scope, target);
    warnOfOthers(scope, roots, disk);
    for (const extra of await extraDisks(scope, { roots, disk, extra: target.extra })) {
      if (extra.kind === 'refused') {
        note('warn', `${extra.asked} will not be formatted: ${extra.because}`);
      }
    }
  },
});

function warnOfOthers(
  { note }: StepScope<'host'>,
  roots: readonly BlockDevice[],
  disk: BlockDevice,
): void {
  for (const shared of disksSharedWith(roots, disk)) {
    note('warn', `${shared} shares volumes or arrays with ${disk.path} and loses them too`);
  }
  for (const { path } of twinsOf(roots, disk)) {
    note(
      'warn',
      `${path} has the same serial number and WWN as ${disk.path}: a second path without multipath, or another disk that looks the same`,
    );
  }
  for (const other of otherSystemDisks(roots, disk)) {
    note('warn', `${other}: the node may boot from it instead of ${disk.path}`);
  }
}
