import { type HostIndex, hostIndexOf } from '../../cluster/host-index.ts';
import { asAgentError, engineFailure } from '../../engine/failures.ts';
import { limited } from '../../engine/limit.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { Stage } from '../../model/stage.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import type { StepScope } from '../step.ts';
import type { Tasks } from './tasks.ts';

const askHostsEvery: Millis = seconds(30);

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

/** The other hosts of the cluster, as the inventory service listed them last. */
export interface KnownHosts {
  /** Undefined until it has listed them once. */
  readonly hosts: () => readonly InventoryHost[] | undefined;
  readonly index: () => HostIndex | undefined;
  /** How often it has listed them. */
  readonly answers: () => number;
  /** The error code of the last request; undefined when it succeeded. */
  readonly lastError: () => string | undefined;
  /** Requests them in the background, unless that was done a short time ago. */
  readonly ask: () => void;
}

/** Keeps the hosts that the inventory service lists, without this one. */
export function knownHostsOf(scope: StepScope<'inventory'>, tasks: Tasks): KnownHosts {
  const { config, inventory } = scope;
  let hosts: readonly InventoryHost[] | undefined;
  let index: HostIndex | undefined;
  let lastError: string | undefined;
  let answers = 0;
  const read = async (signal: AbortSignal): Promise<void> => {
    try {
      const enabled = await inventory.enabledHosts(signal);
      hosts = enabled.filter(({ id }) => id !== config.cluster.hostId);
      index = hostIndexOf(hosts);
      answers += 1;
      lastError = undefined;
    } catch (error) {
      signal.throwIfAborted();
      lastError = asAgentError(error).code;
    }
  };
  return {
    hosts: () => hosts,
    index: () => index,
    answers: () => answers,
    lastError: () => lastError,
    ask: () => tasks.run('ask for hosts', askHostsEvery, read),
  };
}

const reportAgainAfter: Millis = seconds(5);

/** How a report ended: `refused` is an answer too (409). */
export type ReportEnd = 'accepted' | 'refused' | { readonly failed: string };

/** Reports stages of other hosts in the background of one wait, so that none delays another. */
export function hostReportsOf({ inventory, note }: StepScope<'inventory'>, tasks: Tasks) {
  const ends = new Map<string, ReportEnd>();
  return {
    /** How the report of a host ended; undefined before its first report has ended. */
    endOf: ({ id }: InventoryHost): ReportEnd | undefined => ends.get(id),
    /** Reports the stage of a host, unless that was tried a short time ago. */
    send: (host: InventoryHost, stage: Stage): void => {
      tasks.run(`report ${host.id}`, reportAgainAfter, async (signal) => {
        const { infraEnvId, id: hostId } = host;
        const name = host.name === '' ? hostId : host.name;
        try {
          await inventory.report({ infraEnvId, hostId }, { stage, info: '' }, signal);
          ends.set(host.id, 'accepted');
          note('info', `${name} is ${stage}`, { host: hostId, stage });
        } catch (error) {
          signal.throwIfAborted();
          const { code, message } = asAgentError(error);
          const end = code === 'inventory.refused' ? 'refused' : { failed: code };
          if (!isSame(ends.get(host.id), end)) {
            note('warn', `could not report stage ${stage} of ${name}`, { code, reason: message });
          }
          ends.set(host.id, end);
        }
      });
    },
  };
}

const isSame = (one: ReportEnd | undefined, other: ReportEnd): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
