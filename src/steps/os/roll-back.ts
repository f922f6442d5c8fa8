import { minutes } from '../../model/duration.ts';
import {
  bootcDropArgv,
  bootcRollbackArgv,
  isRequiredFor,
  rebootRequiredPath,
} from '../../os/bootc.ts';
import { decideRollback, describe } from '../../os/decide.ts';
import { osFailure } from '../../os/failures.ts';
import { rpmOstreeDropArgv, rpmOstreeRollbackArgv } from '../../os/rpm-ostree.ts';
import { Rollback, OsSnapshot, nodeStep } from './step.ts';
import { runCommands } from './read-host.ts';

/** Decides how the host goes back. */
export const chooseRollback = nodeStep({
  id: 'os/decide-rollback',
  title: 'Decide how to roll back',
  uses: ['host'],
  needs: { snapshot: OsSnapshot },
  gives: Rollback,
  preflight: true,
  limit: minutes(1),
  run: ({ note }, { snapshot: { status } }) => {
    const kind = decideRollback(status);
    const { booted, staged, pending, rollback } = status;
    const target = { 'drop-staged': booted, queued: pending, swap: rollback }[kind];
    if (kind === 'drop-staged' && staged !== undefined) {
      note('info', `${describe(staged)} was never booted and is discarded`);
    }
    return Promise.resolve({ kind, checksum: target?.checksum ?? '' });
  },
});

/** Drops what is staged, or puts first what ran before. */
export const rollBack = nodeStep({
  id: 'os/go-back',
  title: 'Roll back to the previous deployment',
  uses: ['host'],
  needs: { snapshot: OsSnapshot, rollback: Rollback },
  limit: minutes(20),
  touches: ['os'],
  skipIf: ({ rollback }) => (rollback.kind === 'queued' ? 'it boots next already' : undefined),
  run: async (scope, { snapshot, rollback }) => {
    if (rollback.kind === 'drop-staged') return dropNextBoot(scope, snapshot);
    const argv = snapshot.driver === 'bootc' ? bootcRollbackArgv : rpmOstreeRollbackArgv;
    return runCommands(scope, [argv]);
  },
});

/**
 * Has the host boot next what runs now. What bootc left for it in `/run/reboot-required` goes too:
 * kured would reboot the node.
 * @throws AgentError `os.drop-unsupported`
 */
export async function dropNextBoot(
  scope: Parameters<typeof runCommands>[0],
  { driver, status }: Pick<OsSnapshot, 'driver' | 'status'>,
): Promise<void> {
  if (driver === 'rpm-ostree') return runCommands(scope, [rpmOstreeDropArgv(status)]);
  const argv = bootcDropArgv(status);
  if (argv === undefined) {
    const what = 'bootc cannot discard the staged deployment on this host';
    throw osFailure('os.drop-unsupported', what);
  }
  await runCommands(scope, [argv]);
  const { host, signal } = scope;
  const { booted, staged, pending } = status;
  const required = (await host.readText(rebootRequiredPath, signal)) ?? '';
  const digests = [booted, staged, pending].map((one) => one?.digest);
  if (isRequiredFor(required, digests)) await host.remove(rebootRequiredPath, signal);
}
