import { minutes } from '../../model/duration.ts';
import { drivers } from '../../os/choose-driver.ts';
import { decideRollback, describe } from '../../os/decide.ts';
import { osFailure } from '../../os/failures.ts';
import { Rollback, OsSnapshot, nodeStep } from './step.ts';
import { localLimit, runCommands } from './read-host.ts';

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
    const { driver, status } = snapshot;
    await (rollback.kind === 'drop-staged'
      ? dropNextBoot(scope, snapshot)
      : runCommands(scope, drivers[driver].rollbackArgvs(status), localLimit));
  },
});

/**
 * Has the host boot next what runs now.
 * @throws AgentError `os.drop-unsupported`
 */
export async function dropNextBoot(
  scope: Parameters<typeof runCommands>[0],
  { driver, status }: OsSnapshot,
): Promise<void> {
  const argvs = drivers[driver].dropNextArgvs(status);
  if (argvs !== undefined) return runCommands(scope, argvs, localLimit);
  throw osFailure(
    'os.drop-unsupported',
    `${driver} cannot discard the staged deployment on this host`,
  );
}
