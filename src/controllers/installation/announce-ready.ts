import { controllerEvent, readyEvent } from '../../cluster/controller.ts';
import { events } from '../../kube/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { apiErrorText, isForbidden } from '../../ports/kube-failures.ts';
import { recordRef } from '../../steps/cluster/left-record.ts';
import { NewCluster } from './new-cluster.ts';
import { type ControllerScope, controllerStep, followedInstallation } from './step.ts';

/** The bootstrap host of an agent-based installation is the service, and may be away for good. */
const agentBasedLimit: Millis = minutes(5);

/** Its job starts the controller again after that. */
const serviceLimit: Millis = minutes(70);

/** As often as the one that is replaced asks. */
const tryEvery: Millis = seconds(1);

/** The permissions may come a moment after the job, with the other manifests. */
const refusalLimit: Millis = minutes(1);

/**
 * Waits for the service and the API server, and says so by an event in its own namespace. An
 * installation of the agent-based installer continues without the service.
 */
export const announceReady = controllerStep({
  id: 'controller/announce-ready',
  title: 'Announce that the controller is ready',
  uses: ['inventory', 'kube', 'clock'],
  needs: { cluster: NewCluster },
  skipIf: ({ cluster: { isAgentBased } }, { cluster }) =>
    isAgentBased && cluster.controlPlaneCount === 1
      ? 'on an agent-based single node the service has left, and nobody waits'
      : undefined,
  limit: serviceLimit + minutes(5),
  run: async (scope, { cluster: { isAgentBased } }) => {
    const within = isAgentBased ? agentBasedLimit : serviceLimit;
    const service = followedInstallation(scope.inventory);
    const announce = announcing(scope);
    const poll = async (): Promise<PollResult<undefined>> => {
      const { cluster, lastError } = service.view();
      if (lastError !== undefined) {
        if (isAgentBased && (await hasLeft(scope))) {
          scope.note('info', 'the bootstrap host has left, and the service with it');
          return { done: undefined };
        }
        return { status: `the service does not answer (${lastError.code})` };
      }
      return cluster === undefined ? { status: 'the service has not answered yet' } : announce();
    };
    try {
      await scope.until('the service and the API server answer', poll, {
        watch: service.watch,
        every: tryEvery,
        within,
      });
    } catch (error) {
      scope.signal.throwIfAborted();
      if (!isAgentBased || asAgentError(error).code !== 'wait.timed-out') throw error;
      scope.note('warn', 'continuing without the service', { reason: asAgentError(error).message });
    }
  },
});

/**
 * Whether a bootstrap host, which leaves its record when it has seen the event, waits for this
 * controller no longer.
 */
async function hasLeft({ kube, signal }: ControllerScope<'kube'>): Promise<boolean> {
  try {
    return (await kube.get(recordRef, signal)) !== undefined;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

function announcing(
  scope: ControllerScope<'kube' | 'clock'>,
): () => Promise<PollResult<undefined>> {
  const { config, kube, clock, signal, note } = scope;
  const { namespace } = config;
  let refusedSince: Millis | undefined;
  return async () => {
    try {
      const event = controllerEvent({ ...readiness, namespace, at: clock.now() });
      await kube.create({ kind: events, namespace }, event, signal);
      note('info', `event ${readyEvent} is created`);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof AgentError)) throw error;
      const failure: AgentError = error;
      if (isForbidden(error)) {
        refusedSince ??= clock.elapsed();
        if (clock.elapsed() - refusedSince >= refusalLimit) throw error;
        return { status: 'the API server refuses the event of this controller' };
      }
      // An earlier run of the job has created it, and one is enough.
      if (failure.code !== 'kube.conflict') return { status: apiErrorText(failure) };
    }
    return { done: undefined };
  };
}

/** Word for word as bootstrap hosts know it. */
const readiness = {
  name: readyEvent,
  reason: readyEvent,
  message:
    'Assisted controller managed to connect to assisted service and kube-apiserver and is ready to start',
  type: 'Normal',
  count: 1,
} as const;
