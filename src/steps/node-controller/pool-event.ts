import { events } from '../../cluster/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { NodeControllerScope } from './world.ts';

/** What is said about a pool, for whoever describes it. */
interface PoolNotice {
  readonly pool: string;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Where events about objects of the whole cluster are (client-go, `record.makeEvent`). */
export const eventNamespace = 'default';

/**
 * Makes an event of a pool. It is for people: one that cannot be made is noted, and nothing waits for it.
 * @throws the signal's reason
 */
export async function poolEvent(
  { kube, clock, note }: NodeControllerScope<'kube' | 'clock'>,
  { pool, type, reason, message }: PoolNotice,
  signal: AbortSignal,
): Promise<void> {
  const now = clock.now();
  const at = new Date(now).toISOString();
  const involvedObject = {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfigPool',
    name: pool,
  };
  // As client-go names events: by the time, so that each is an event of its own.
  const name = `${pool}.${(BigInt(Math.round(now)) * 1_000_000n).toString(16)}.${reason.toLowerCase()}`;
  const event = {
    ...{ apiVersion: 'v1', kind: 'Event', metadata: { name, namespace: eventNamespace } },
    ...{ involvedObject, type, reason, message, count: 1 },
    ...{
      firstTimestamp: at,
      lastTimestamp: at,
      source: { component: 'bootwright-node-controller' },
    },
  };
  try {
    await kube.create({ kind: events, namespace: eventNamespace }, event, signal);
  } catch (error) {
    signal.throwIfAborted();
    const { code, message: why } = asAgentError(error);
    note('info', `an event of pool ${pool} could not be made`, { code, reason: why });
  }
}
