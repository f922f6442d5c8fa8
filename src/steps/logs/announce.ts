import { asAgentError } from '../../engine/failures.ts';
import { minutes } from '../../model/duration.ts';
import { step } from '../step.ts';
import { hasLogTaker } from './conditions.ts';

/** Tells the service that logs of this host will come. A service that does not listen holds nobody up. */
export const announce = step({
  id: 'logs/announce',
  title: 'Announce the logs of this host',
  uses: ['inventory'],
  when: hasLogTaker,
  limit: minutes(15),
  run: async ({ inventory, config, signal, note }) => {
    const { id, infraEnvId, hostId } = config.cluster;
    const host = { infraEnvId: infraEnvId === '' ? id : infraEnvId, hostId };
    try {
      await inventory.logsState(host, 'requested', signal);
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = asAgentError(error);
      note('warn', 'the logs could not be announced', { code, reason: message });
    }
  },
});
