import { asAgentError, engineFailure } from '../../engine/failures.ts';
import { limited } from '../../engine/limit.ts';
import { untilAborted, type Watch } from '../../engine/wait.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { Stage } from '../../model/stage.ts';
import type { Clock } from '../../ports/clock.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import type { StepScope } from '../step.ts';

/** Background work of a wait, which it does not delay. */
export interface Tasks {
  /**
   * Starts the work with this name unless it is running or started less than `pause` ago. The work
   * reports its failures itself. The wait polls again when it ends.
   */
  readonly run: (name: string, pause: Millis, work: (signal: AbortSignal) => Promise<void>) => void;
  /** A watch of the wait; at its end it stops the running work and waits for it. */
  readonly watch: Watch;
}

/** Background work of one wait, which must use the returned watch. */
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

/** Time limit for an answer of the service that is optional: this host knows enough without it. */
const answerLimit: Millis = seconds(30);

/**
 * Asks the service for optional data.
 * @throws AgentError `step.timed-out` if it does not answer in a short time
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
 * The other hosts of the cluster in the inventory service: its list of them, and the stages that
 * this host reports for them. Every request runs in the background of one wait, so that none delays
 * another.
 */
export function otherHosts({ config, inventory, note }: StepScope<'inventory'>, tasks: Tasks) {
  let hosts: readonly InventoryHost[] | undefined;
  let lastError: string | undefined;
  let answers = 0;
  const ends = new Map<string, string>();
  return {
    /** The last list of the service; undefined before the first one. */
    listed: () => hosts,
    /** The number of lists received. */
    answers: () => answers,
    /** The error code of the last list; undefined if it succeeded. */
    lastError: () => lastError,
    /** Requests the list unless a request was sent a short time ago. */
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
     * The result of the last report of a host: `accepted`, or the code of its error;
     * `inventory.refused` (409) counts as an answer too. Undefined before the first report has
     * ended.
     */
    endOf: ({ id }: InventoryHost): string | undefined => ends.get(id),
    /** Reports the stage of a host unless an attempt was made a short time ago. */
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
