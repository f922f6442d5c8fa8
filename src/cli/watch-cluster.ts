import { kubeCluster } from '../adapters/kube/kube.ts';
import { systemPorts } from '../adapters/random.ts';
import { clusterNotSettled } from '../cluster/cluster-end.ts';
import { clusterOperators } from '../kube/kinds.ts';
import { clusterVersionRef } from '../cluster/operators.ts';
import type { Environment } from '../config/environment.ts';
import { proxiesIn } from '../config/load.ts';
import { readNamed } from '../config/files.ts';
import { asAgentError } from '../engine/failures.ts';
import { plainLine } from '../lib/plain-text.ts';
import { type Millis, renderDuration, seconds } from '../model/duration.ts';
import type { Clock } from '../ports/clock.ts';
import type { Kube } from '../ports/kube.ts';
import { cliFailure } from './failures.ts';
import { printAt } from './messages.ts';
import { stopSignal } from './stop-signal.ts';
import { limitedBy } from './waiting.ts';

/** The cluster that is installed. */
interface InstalledCall {
  readonly kubeconfig: string;
  readonly environment: Environment;
  /** From now; none unless given. */
  readonly limit: Millis | undefined;
}

/**
 * Waits until a cluster has come to its end, and resolves with 0, or with the code of a signal. Its
 * kubeconfig is read for each request: it may not be there yet.
 * @throws AgentError `cli.not-installed-in-time`
 */
export async function waitForCluster(call: InstalledCall): Promise<number> {
  const { kubeconfig, environment, limit } = call;
  using stop = stopSignal();
  using limited = limitedBy(stop.signal, limit);
  await using kube = openCluster(kubeconfig, environment);
  const { signal } = limited;
  const missing = await settling({
    kube: kube.kube,
    signal,
    print: printAt,
    clock: systemPorts.clock,
  });
  if (stop.signal.aborted) return stop.endCode();
  if (missing === undefined) return 0;
  throw cliFailure(
    'cli.not-installed-in-time',
    `the cluster is not installed within ${renderDuration(limit ?? 0)}: ${missing}`,
  );
}

function openCluster(kubeconfig: string, environment: Environment) {
  const kube = kubeCluster({
    ...systemPorts,
    credentials: () => readNamed({ path: kubeconfig, kind: 'settings' }),
    proxies: proxiesIn(environment),
    emit: () => undefined,
  });
  return { kube, [Symbol.asyncDispose]: () => kube.close() };
}

/** As often as a service is asked. */
const pause: Millis = seconds(20);

/** A cluster that comes to its end. */
export interface Settling {
  readonly kube: Pick<Kube, 'get' | 'list'>;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly signal: AbortSignal;
  readonly print: (lines: readonly string[]) => void;
}

/**
 * Prints what is missing whenever that changes. Resolves with undefined once nothing is, or with
 * what was missing last when the signal aborts.
 */
export async function settling(watch: Settling): Promise<string | undefined> {
  const { kube, clock, signal, print } = watch;
  const ask = async (): Promise<string | undefined> => {
    const version = await kube.get(clusterVersionRef, signal);
    return clusterNotSettled(version, await kube.list({ kind: clusterOperators }, signal));
  };
  let missing: string | undefined = 'nothing is known of it';
  for (;;) {
    const now = await ask().catch((thrown: unknown) => asAgentError(thrown).message);
    // A request that was aborted says nothing of the cluster.
    if (signal.aborted) return missing;
    if (now === undefined) return undefined;
    const line = plainLine(now);
    if (line !== missing) print([`cluster: ${line}`]);
    missing = line;
    await clock.sleep(pause, signal).catch(() => undefined);
  }
}
