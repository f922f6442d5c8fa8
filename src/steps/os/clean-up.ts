import { minutes } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { drivers } from '../../os/choose-driver.ts';
import { Plan, Sight } from './facts.ts';
import { runCommands } from './run-commands.ts';
import { step } from './step.ts';

/**
 * Removes what earlier images left and nothing leads back to, before another one comes. What runs,
 * what a rollback leads to and what somebody pinned stay. A failure is told: it may still fit.
 */
export const cleanUp = step({
  id: 'os/clean-up',
  title: 'Remove what earlier images left',
  uses: ['host'],
  needs: { sight: Sight, plan: Plan },
  limit: minutes(20),
  skipIf: ({ plan }) => (plan.kind === 'nothing' ? 'nothing is to be done' : undefined),
  run: async (scope, { sight }) => {
    try {
      await runCommands(scope, drivers[sight.driver].cleanArgvs(sight.status));
    } catch (error) {
      scope.signal.throwIfAborted();
      if (!(error instanceof AgentError)) throw error;
      scope.note('warn', `earlier images stay: ${error.message}`, { code: error.code });
    }
  },
});
