import type { Contender } from '../kube/lease.ts';
import { asRun, type Controller, type Controllers, startControllers } from '../kube/manager.ts';
import { seconds } from '../model/duration.ts';

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
interface ProviderHome extends Pick<Contender, 'pod'>, Pick<Controllers, 'queueOpened'> {
  readonly providers: readonly Provider[];
  /** Of their leases; that of each provider unless given. */
  readonly namespace: string | undefined;
}

/**
 * As every provider has them (controller-runtime, `leaderelection`): a killed manager is replaced
 * within 15 seconds.
 */
const times = { duration: seconds(15), renewDeadline: seconds(10), retryPeriod: seconds(2) };

/**
 * Runs the controllers of providers, each provider by a lease of its own, until the signal aborts
 * or one of them has to end; then all end.
 * @throws the signal's reason; AgentError `controller.lease-lost`, or what no informer can continue
 * after
 */
export function runProviders(
  scope: Parameters<typeof startControllers>[0],
  { providers, namespace, pod, queueOpened }: ProviderHome,
): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([scope.signal, stop.signal]);
  const steps = providers.flatMap(({ controllers }) => controllers).length;
  return asRun(scope, { name: 'capi-manager', steps }, async () => {
    const failures: unknown[] = [];
    const runs = providers.map(async ({ name, controllers }) => {
      const place = { namespace: namespace ?? namespaceOf(name), pod, isSingleNode: false };
      const lease = { lease: `bootwright-${name}`, ...place, times };
      try {
        await startControllers({ ...scope, signal }, { name, controllers, queueOpened, lease });
      } catch (error) {
        failures.push(error);
        stop.abort(error);
      }
    });
    await Promise.all(runs);
    throw failures[0];
  });
}
