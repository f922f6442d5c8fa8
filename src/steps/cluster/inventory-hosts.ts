import { asAgentError, engineFailure } from '../../engine/failures.ts';
import { limited } from '../../engine/limit.ts';
import { untilAborted, type Watch } from '../../engine/wait.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { Stage } from '../../model/stage.ts';
import type { Clock } from '../../ports/clock.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import type { StepScope } from '../step.ts';

/** Background work of a wait, so that slow work does not delay the wait. */
export interface Tasks {
  /**
   * Starts the work of a name, unless it is running or was started less than `pause` ago. The work
   * reports its failures itself. When it ends, the wait polls again.
   */
  readonly run: (name: string, pause: Millis, work: (signal: AbortSignal) => Promise<void>) => void;
  /** A watch of the wait; at its end the running work is stopped and waited for. */
  readonly watch: Watch;
}

/** Background work of one wait, which must have the watch of it. */
export function tasksOf({
  clock,
  signal,
}: {
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly signal: AbortSignal;
}): Tasks {
  const closing = new AbortController();
  const inner = AbortSignal.any([signal, closing.signal]);
  const started = new Map<string, Millis>();
  const running = new Map<string, Promise<void>>();
  let notify = (): void => undefined;
  return {
    run: (name, pause, work) => {
      const last = started.get(name) ?? Number.NEGATIVE_INFINITY;
      if (running.has(name) || clock.elapsed() - last < pause) return;
      started.set(name, clock.elapsed());
      const end = (): void => {
        running.delete(name);
        notify();
      };
      running.set(name, work(inner).then(end, end));
    },
    watch: async (changed, over) => {
      notify = changed;
      await untilAborted(over);
      closing.abort(new Error('the wait is over'));
      await Promise.all(running.values());
    },
  };
}

/**
 * How long the service may take where its answer is not needed: this host knows enough without it.
 */
const answerLimit: Millis = seconds(30);

/**
 * Asks the service for what is not needed.
 * @throws AgentError `step.timed-out` where it does not answer in a short time
 */
export function askBriefly<T>(
  { clock, signal }: Pick<StepScope<'clock'>, 'clock' | 'signal'>,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = (): Error =>
    engineFailure('step.timed-out', 'the inventory service did not answer in time');
  return limited(clock, { limit: answerLimit, signal, late }, ask);
}

const askHostsEvery: Millis = seconds(30);
const reportAgainAfter: Millis = seconds(5);

/**
 * The other hosts of the cluster in the inventory service: as it lists them, and the stages that it
 * is told of them. Every request runs beside one wait, so that none delays another.
 */
export function otherHosts({ config, inventory, note }: StepScope<'inventory'>, tasks: Tasks) {
  let hosts: readonly InventoryHost[] | undefined;
  let lastError: string | undefined;
  let answers = 0;
  const ends = new Map<string, string>();
  return {
    /** As the service listed them last; undefined until it has listed them once. */
    listed: () => hosts,
    /** How often it has listed them. */
    answers: () => answers,
    /** The error code of the last list; undefined when it succeeded. */
    lastError: () => lastError,
    /** Asks for the list, unless that was done a short time ago. */
    ask: (): void => {
      tasks.run('ask for hosts', askHostsEvery, async (signal) => {
        try {
          const enabled = await inventory.enabledHosts(signal);
          hosts = enabled.filter(({ id }) => id !== config.cluster.hostId);
          answers += 1;
          lastError = undefined;
        } catch (error) {
          signal.throwIfAborted();
          lastError = asAgentError(error).code;
        }
      });
    },
    /**
     * How the last report of a host ended: `accepted`, or the code of its error, of which
     * `inventory.refused` (409) is an answer too; undefined before the first one has ended.
     */
    endOf: ({ id }: InventoryHost): string | undefined => ends.get(id),
    /** Reports the stage of a host, unless that was tried a short time ago. */
    report: ({ id, infraEnvId, name }: InventoryHost, stage: Stage): void => {
      tasks.run(`report ${id}`, reportAgainAfter, async (signal) => {
        const shown = name === '' ? id : name;
        try {
          await inventory.report({ infraEnvId, hostId: id }, { stage, info: '' }, signal);
          ends.set(id, 'accepted');
          note('info', `${shown} is ${stage}`, { host: id, stage });
        } catch (error) {
          signal.throwIfAborted();
          const { code, message: reason } = asAgentError(error);
          if (ends.get(id) !== code)
            note('warn', `could not report stage ${stage} of ${shown}`, { code, reason });
          ends.set(id, code);
        }
      });
    },
  };
}
