import type { Config } from '../../config/schema.ts';
import { asAgentError, noteFailed } from '../../engine/failures.ts';
import { type Scope, stepsOf } from '../../engine/step.ts';
import type { PollResult, Watch } from '../../engine/wait.ts';
import { type Millis, seconds, unlimited } from '../../model/duration.ts';
import type { InstallationView, Inventory } from '../../ports/inventory.ts';
import type { Kube } from '../../ports/kube.ts';
import type { Emit } from '../../engine/events.ts';
import type { Ports } from '../../ports/ports.ts';

/**
 * The settings of the controller: those of an installation that its environment names, and its own.
 */
export interface ControllerConfig extends Config {
  /** Its own namespace. */
  readonly namespace: string;
  /** A copy of its log; `/tmp/controller_logs.log` unless given. */
  readonly logFile?: string;
}

/**
 * All that the controller can reach: it is a pod in the new cluster, with a few files of its node.
 */
export interface ControllerPorts extends Pick<
  Ports,
  'kube' | 'inventory' | 'host' | 'web' | 'clock' | 'random'
> {
  /**
   * The same cluster with the rights of its administrator: the kubeconfig that the service keeps,
   * looked for with the first call. For what a user brings, and for pods that do what `oc debug`
   * and `oc adm must-gather` do: no role of ours can name that.
   */
  readonly adminKube: Kube;
  /** Events of the controllers that run beside the steps. */
  readonly emit: Emit;
}

/** What the steps of the controller work on. */
export interface ControllerWorld {
  readonly config: ControllerConfig;
  readonly ports: ControllerPorts;
}

/** Defines a step of the controller. */
export const controllerStep = stepsOf<ControllerWorld>();

/** What a step of the controller has at hand. */
export type ControllerScope<Uses extends keyof ControllerPorts> = Scope<ControllerWorld, Uses>;

/**
 * The cluster as the service has it, for a wait: its latest view, and a watch that notifies after
 * each answer.
 */
export interface FollowedInstallation {
  readonly view: () => InstallationView;
  readonly watch: Watch;
}

/** Follows the cluster at the service for a wait. */
export function followedInstallation(inventory: Pick<Inventory, 'follow'>): FollowedInstallation {
  let latest: InstallationView = {};
  return {
    view: () => latest,
    watch: (changed, signal) =>
      inventory.follow((view) => {
        latest = view;
        changed();
      }, signal),
  };
}

/** Work that is repeated until it is done. */
export interface Duty<T> {
  /** What is true once it is done. */
  readonly sentence: string;
  /** Looks, and does what is due now; what it throws is tried again. */
  readonly work: (signal: AbortSignal) => Promise<PollResult<T>>;
  /** It ends undone. */
  readonly isOver: () => boolean;
  readonly watch?: Watch;
  /** Unlimited unless given: what the controller works on says when it ends. */
  readonly within?: Millis;
  /** Called with the first failure of each cause. */
  readonly failed?: () => void;
}

/**
 * How often to look at what notifies nobody, and the pause after a failure
 * (assisted-installer-controller, `GeneralWaitInterval`).
 */
const tryEvery: Millis = seconds(30);

/**
 * Repeats work until it is done; undefined where it is over before. A failure is noted once for
 * each cause: nobody else would begin this work again.
 * @throws AgentError `wait.timed-out` with what failed last; the signal's reason
 */
export function untilDone<T>(
  scope: ControllerScope<'clock'>,
  { sentence, work, isOver, watch, within = unlimited, failed }: Duty<T>,
): Promise<T | undefined> {
  const { clock, until } = scope;
  let [notBefore, failure] = [0, ''];
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
      [notBefore, failure] = [clock.elapsed() + tryEvery, status];
      return { status };
    }
  };
  return until(sentence, poll, { ...(watch && { watch }), every: tryEvery, within });
}

/** Waits for all, then throws what failed first. */
export async function allOf(works: readonly Promise<void>[]): Promise<void> {
  for (const ended of await Promise.allSettled(works))
    if (ended.status === 'rejected') throw ended.reason;
}
