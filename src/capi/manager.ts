import type { Contender } from '../kube/lease.ts';
import { asRun, type Controller, type Controllers, startControllers } from '../kube/manager.ts';
import { seconds } from '../model/duration.ts';

/** The providers, named by clusterctl's kinds. */
export const providers = ['bootstrap', 'control-plane'] as const;

/** The name of a provider. */
export type ProviderName = (typeof providers)[number];

/** The namespace in which clusterctl installs a provider. */
export const namespaceOf = (name: ProviderName): string => `bootwright-${name}-system`;

/** A provider with its controllers, which run while it holds its lease. */
export interface Provider {
  readonly name: ProviderName;
  readonly controllers: readonly Controller[];
}

/**
 * Whether all informers of the providers have synced once. From then on the providers answer from
 * their stores, also while the API server is away.
 */
export function hasSynced(all: readonly Provider[]): () => boolean {
  const reads = all.flatMap(({ controllers }) => controllers.flatMap((one) => one.reads));
  let isSynced = false;
  return () => (isSynced ||= reads.every(({ gap }) => gap() === undefined));
}

/** The pod and the namespace in which providers run. */
interface ProviderHome extends Pick<Contender, 'pod'>, Pick<Controllers, 'queueOpened'> {
  readonly providers: readonly Provider[];
  /** Namespace of the leases; default: the namespace of each provider. */
  readonly namespace: string | undefined;
}

/**
 * The usual times of a provider (controller-runtime, `leaderelection`): a killed manager is
 * replaced within 15 seconds.
 */
const times = { duration: seconds(15), renewDeadline: seconds(10), retryPeriod: seconds(2) };

/**
 * Runs the controllers of providers, each provider under its own lease. When the signal aborts, or
 * one provider has to end, all of them end.
 * @throws the signal's reason; AgentError `controller.lease-lost`, or an error after which no
 * informer can continue
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
