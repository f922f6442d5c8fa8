import { controllerEvent, readyEvent } from '../../cluster/controller.ts';
import { events } from '../../kube/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { apiErrorText, isForbidden } from '../../ports/kube-failures.ts';
import { recordRef } from '../../steps/cluster/left-record.ts';
import { followedInstallation, type StepScope } from './scope.ts';

/** The bootstrap host of an agent-based installation is the service, and may have left for good. */
const agentBasedLimit: Millis = minutes(5);

/** The job restarts the controller after that. */
const serviceLimit: Millis = minutes(70);

/** The interval of assisted-installer-controller. */
const tryEvery: Millis = seconds(1);

/** The permissions may be applied a moment after the job, with the other manifests. */
const refusalLimit: Millis = minutes(1);

/** The exact reason and message for which bootstrap hosts wait. */
const readiness = {
  name: readyEvent,
  reason: readyEvent,
  message:
    'Assisted controller managed to connect to assisted service and kube-apiserver and is ready to start',
  type: 'Normal',
  count: 1,
} as const;

/**
 * Waits for the service and the API server, and creates the ready event in the namespace of the
 * controller. An installation of the agent-based installer continues without the service.
 */
export async function announceReady(scope: StepScope, isAgentBased: boolean): Promise<void> {
  const { config, inventory, kube, clock, signal, note } = scope;
  const { namespace } = config;
  const service = followedInstallation(inventory);
  let refusedSince: Millis | undefined;
  const announce = async (): Promise<PollResult<undefined>> => {
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
      // An earlier run of the job has created the event, and one is enough.
      if (failure.code !== 'kube.conflict') return { status: apiErrorText(failure) };
    }
    return { done: undefined };
  };
  const poll = async (): Promise<PollResult<undefined>> => {
    const { cluster, lastError } = service.view();
    if (lastError === undefined)
      return cluster === undefined ? { status: 'the service has not answered yet' } : announce();
    if (isAgentBased) {
      // A bootstrap host writes its record after it has seen the event.
      const record = await kube.get(recordRef, signal).catch(() => signal.throwIfAborted());
      if (record !== undefined) {
        note('info', 'the bootstrap host has left, and the service with it');
        return { done: undefined };
      }
    }
    return { status: `the service does not answer (${lastError.code})` };
  };
  const limits = {
    watch: service.watch,
    every: tryEvery,
    within: isAgentBased ? agentBasedLimit : serviceLimit,
  };
  try {
    await scope.until('the service and the API server answer', poll, limits);
  } catch (error) {
    signal.throwIfAborted();
    if (!isAgentBased || asAgentError(error).code !== 'wait.timed-out') throw error;
    note('warn', 'continuing without the service', { reason: asAgentError(error).message });
  }
}
