import { minutes } from '../../model/duration.ts';
import { drivers } from '../../os/choose-driver.ts';
import { decideRollback, describe } from '../../os/decide.ts';
import type { Argv } from '../../os/driver.ts';
import { osFailure } from '../../os/failures.ts';
import { GoingBack, Sight, step } from './step.ts';
import { runCommands } from './read-host.ts';

/** Decides how the host goes back. */
export const decideGoingBack = step({
  id: 'os/decide-rollback',
  title: 'Decide how to go back',
  uses: ['host'],
  needs: { sight: Sight },
  gives: GoingBack,
  preflight: true,
  limit: minutes(1),
  run: ({ note }, { sight: { status } }) => {
    const kind = decideRollback(status);
    const { booted, staged, pending, rollback } = status;
    const target = { 'drop-staged': booted, queued: pending, swap: rollback }[kind];
    if (kind === 'drop-staged' && staged !== undefined) {
      note('info', `${describe(staged)} was not booted yet and is dropped`);
    }
    return Promise.resolve({ kind, checksum: target?.checksum ?? '' });
  },
});

/** Drops what is staged, or puts first what ran before. */
export const goBack = step({
  id: 'os/go-back',
  title: 'Make the host boot what it ran before',
  uses: ['host'],
  needs: { sight: Sight, back: GoingBack },
  limit: minutes(20),
  touches: ['os'],
  skipIf: ({ back }) => (back.kind === 'queued' ? 'it is booted next already' : undefined),
  run: async (scope, { sight, back }) => {
    await runCommands(scope, backArgvs(sight, back));
  },
});

function backArgvs({ driver, status }: Sight, { kind }: GoingBack): readonly Argv[] {
  if (kind !== 'drop-staged') return drivers[driver].rollbackArgvs(status);
  const argvs = drivers[driver].dropStagedArgvs(status);
  if (argvs !== undefined) return argvs;
  throw osFailure('os.drop-unsupported', `${driver} cannot drop what is staged here`);
}
