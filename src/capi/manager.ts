import type { Emit } from '../engine/events.ts';
import { asAgentError, reportOf } from '../engine/failures.ts';
import { seconds } from '../model/duration.ts';
import { version } from '../model/version.ts';
import type { Ports } from '../ports/ports.ts';
import type { Contender } from '../kube/lease.ts';
import { type Controller, type Controllers, startControllers } from '../kube/manager.ts';

/** The providers, as clusterctl names their kinds. */
export const providers = ['bootstrap', 'control-plane'] as const;

/** One of them. */
export type ProviderName = (typeof providers)[number];

/** Where clusterctl puts a provider. */
export const namespaceOf = (name: ProviderName): string => `bootwright-${name}-system`;

/** A provider with its controllers, which work while it holds its lease. */
export interface Provider {
  readonly name: ProviderName;
  readonly controllers: readonly Controller[];
}

/**
 * Whether everything that providers follow was listed once: from then on they answer by what they
 * saw, also while the API server is away.
 */
export function hasSynced(all: readonly Provider[]): () => boolean {
  const reads = all.flatMap(({ controllers }) => controllers.flatMap((one) => one.reads));
  let isSynced = false;
  return () => (isSynced ||= reads.every(({ gap }) => gap() === undefined));
}

/** Where providers run. */
interface ProviderHome extends Pick<Contender, 'pod'> {
  readonly providers: readonly Provider[];
  /** Of their leases; that of each provider unless given. */
  readonly namespace: string | undefined;
  readonly queueOpened: Controllers['queueOpened'];
}

/**
 * As every provider has them (controller-runtime, `leaderelection`): a killed manager is replaced
 * within 15 seconds.
 */
const leaseTimes = { duration: seconds(15), renewDeadline: seconds(10), retryPeriod: seconds(2) };

/**
 * Runs the controllers of providers, each provider by a lease of its own, until the signal aborts
 * or one of them has to end; then all end.
 * @throws the signal's reason; AgentError `controller.lease-lost`, or what no informer can continue
 * after
 */
export async function runProviders(
  scope: Pick<Ports, 'kube' | 'clock' | 'random'> & {
    readonly emit: Emit;
    readonly signal: AbortSignal;
  },
  { providers, namespace, pod, queueOpened }: ProviderHome,
): Promise<never> {
  const { clock, emit, signal } = scope;
  const since = clock.elapsed();
  const stop = new AbortController();
  const inner = AbortSignal.any([signal, stop.signal]);
  const steps = providers.flatMap(({ controllers }) => controllers).length;
  emit({ type: 'run.started', role: 'capi-manager', version, isResumed: false, steps });
  let first: unknown;
  const runs = providers.map(async ({ name, controllers }) => {
    const place = { namespace: namespace ?? namespaceOf(name), pod, isSingleNode: false };
    const lease = { lease: `bootwright-${name}`, ...place };
    try {
      await startControllers(
        { ...scope, signal: inner },
        { name, controllers, queueOpened, lease: { ...lease, times: leaseTimes } },
      );
    } catch (error) {
      first ??= error;
      stop.abort(error);
    }
  });
  await Promise.all(runs);
  const duration = clock.elapsed() - since;
  const error = asAgentError(signal.aborted ? signal.reason : first);
  emit(
    signal.aborted
      ? { type: 'run.stopped', reason: error.message, duration }
      : { type: 'run.failed', failure: reportOf(error), duration },
  );
  throw error;
}
