import { asAgentError } from '../../engine/failures.ts';
import { seconds } from '../../model/duration.ts';
import { step } from '../step.ts';
import { IronicAgent } from './facts.ts';

const unit = 'ironic-agent.service';

/** Lists the agent of ironic when systemd knows it. */
export const listIronicArgv = ['systemctl', 'list-units', '--no-legend', unit] as const;

/**
 * Finds out who reboots the host. When systemd does not answer, the host reboots by itself: an
 * install that is through must not fail here.
 */
export const findIronic = step({
  id: 'finish/find-ironic',
  title: 'Find out whether ironic reboots the host',
  uses: ['host'],
  gives: IronicAgent,
  limit: seconds(90),
  preview: () => [listIronicArgv],
  run: async ({ host, signal, note }) => {
    try {
      const { stdout } = await host.exec(listIronicArgv, { signal, limit: seconds(60) });
      return { isPresent: stdout.includes(unit) };
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = asAgentError(error);
      note('warn', 'the units of the host cannot be listed; it reboots by itself', {
        code,
        reason: message,
      });
      return { isPresent: false };
    }
  },
});
