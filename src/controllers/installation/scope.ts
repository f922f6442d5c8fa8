import type { Config } from '../../config/schema.ts';
import { type Emit, type Note, notesOf } from '../../engine/events.ts';
import { asAgentError, noteFailed, reportOf } from '../../engine/failures.ts';
import { limited } from '../../engine/limit.ts';
import { type PollResult, type Until, untilOf, type Watch } from '../../engine/wait.ts';
import { type Millis, seconds, unlimited } from '../../model/duration.ts';
import type { InstallationView, Inventory } from '../../ports/inventory.ts';
import type { Kube } from '../../ports/kube.ts';
import type { Ports } from '../../ports/ports.ts';
import { latestOf } from '../../steps/cluster/kube-watch.ts';

/** Settings of an installation from the environment of the controller, and the controller's own. */
export interface ControllerConfig extends Config {
  /** The namespace of the controller. */
  readonly namespace: string;
  /** A copy of its log; `/tmp/controller_logs.log` by default. */
  readonly logFile?: string;
}

/** Ports of the controller, which is a pod in the new cluster with a few files of its node. */
export interface ControllerPorts extends Pick<
  Ports,
  'kube' | 'inventory' | 'host' | 'clock' | 'random'
> {
  /**
   * The same cluster with an administrator's rights: the kubeconfig of the service, fetched at the
   * first call. It applies the manifests of users, and creates pods that do the work of `oc debug`
   * and `oc adm must-gather`: no ClusterRole can list the rights for these.
   */
  readonly adminKube: Kube;
}

/** Ports and settings of the whole program. */
export interface ProgramScope extends ControllerPorts {
  readonly config: ControllerConfig;
  readonly emit: Emit;
  readonly signal: AbortSignal;
}

/** Ports and settings of a controller. A controller does not end; a step does. */
export interface InstallationScope extends ControllerPorts {
  readonly config: ControllerConfig;
  readonly note: Note;
}

/** Ports and settings of a step. */
export interface StepScope extends InstallationScope {
  readonly signal: AbortSignal;
  readonly until: Until;
}

/**
 * Runs a step to its end, under its own name in the log. A stopped step gets a moment to finish.
 * @throws errors of the step; the signal's reason
 */
export async function runStep<T>(
  scope: ProgramScope,
  id: string,
  title: string,
  work: (scope: StepScope) => Promise<T>,
): Promise<T> {
  const { clock, emit, signal: stop } = scope;
  const step = `controller/${id}`;
  const since = clock.elapsed();
  const limit = { limit: unlimited, signal: stop, late: () => new Error('it has no limit') };
  emit({ type: 'step.started', step, title, attempt: 1 });
  try {
    const value = await limited(clock, limit, (signal) => {
      const until = untilOf(clock, signal, {
        updated: (update) => emit({ type: 'wait.updated', step, ...update }),
        finished: (end) => emit({ type: 'wait.finished', step, ...end }),
      });
      return work({ ...scope, signal, until, note: notesOf(emit, step) });
    });
    emit({ type: 'step.finished', step, duration: clock.elapsed() - since });
    return value;
  } catch (error) {
    if (stop.aborted) emit({ type: 'step.stopped', step });
    else emit({ type: 'step.failed', step, failure: reportOf(asAgentError(error)) });
    throw error;
  }
}

/** Follows the cluster at the service for a wait. */
export const followedInstallation = ({ follow }: Pick<Inventory, 'follow'>) =>
  latestOf<InstallationView>({}, follow);

/** Work that is repeated until it is done. */
export interface RepeatedWork<T> {
  /** A sentence that is true once the work is done. */
  readonly sentence: string;
  /** Does the due work; after an error it is tried again. */
  readonly work: (signal: AbortSignal) => Promise<PollResult<T>>;
  /** Whether the work ends without its result. */
  readonly isOver: () => boolean;
  readonly watch?: Watch | undefined;
  /** Timeout; unlimited by default. */
  readonly within?: Millis;
  /** Called at the first failure of each cause. */
  readonly failed?: () => void;
}

/**
 * Poll interval for sources without notifications, and the pause after a failure
 * (assisted-installer-controller, `GeneralWaitInterval`).
 */
const tryEvery: Millis = seconds(30);

/**
 * Repeats work until it is done; undefined if it is over before. A failure is logged once for each
 * cause: no other program would begin this work again.
 * @throws AgentError `wait.timed-out` with the last failure; the signal's reason
 */
export function untilDone<T>(
  scope: StepScope,
  { sentence, work, isOver, watch, within = unlimited, failed }: RepeatedWork<T>,
): Promise<T | undefined> {
  const { clock, until } = scope;
  let notBefore = 0;
  let failure = '';
  const poll = async (signal: AbortSignal): Promise<PollResult<T | undefined>> => {
    if (isOver()) return { done: undefined };
    if (clock.elapsed() < notBefore) return { status: failure };
    try {
      const result = await work(signal);
      failure = '';
      return result;
    } catch (error) {
      const status = `the last attempt failed (${asAgentError(error).code})`;
      if (status !== failure) {
        noteFailed(scope, `trying again until ${sentence}`, error);
        failed?.();
      }
      signal.throwIfAborted();
      notBefore = clock.elapsed() + tryEvery;
      failure = status;
      return { status };
    }
  };
  return until(sentence, poll, { ...(watch && { watch }), every: tryEvery, within });
}

/** Waits for all, then throws the first failure. */
export async function allOf<T>(works: readonly Promise<T>[]): Promise<readonly T[]> {
  const ended = await Promise.allSettled(works);
  return ended.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}
