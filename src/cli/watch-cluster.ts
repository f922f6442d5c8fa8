import { kubeCluster } from '../adapters/kube/kube.ts';
import { systemPorts } from '../adapters/clock.ts';
import { clusterOperators } from '../kube/kinds.ts';
import { clusterVersionRef, clusterNotSettled } from '../cluster/operators.ts';
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
  /** Time from now; no limit unless given. */
  readonly limit: Millis | undefined;
}

/**
 * Waits until a cluster is installed and settled, and resolves with 0, or with the exit code of a
 * signal. Reads the kubeconfig for each request: the file may not exist yet.
 * @throws AgentError `cli.not-installed-in-time`
 */
export async function waitForCluster(call: InstalledCall): Promise<number> {
  const { kubeconfig, environment, limit } = call;
  using stop = stopSignal();
  const signal = limitedBy(stop.signal, limit);
  const kube = kubeCluster({
    ...systemPorts,
    credentials: () => readNamed({ path: kubeconfig, kind: 'settings' }),
    proxies: proxiesIn(environment),
    emit: () => undefined,
  });
  await using open = new AsyncDisposableStack();
  open.defer(kube.close);
  const { clock } = systemPorts;
  const missing = await waitUntilSettled({ kube, signal, print: printAt, clock });
  if (stop.signal.aborted) return stop.endCode();
  if (missing === undefined) return 0;
  throw cliFailure(
    'cli.not-installed-in-time',
    `the cluster is not installed within ${renderDuration(limit ?? 0)}: ${missing}`,
  );
}

/** The service is asked at the same interval. */
const pause: Millis = seconds(20);

/** Inputs of the wait for a cluster to settle. */
export interface ClusterWait {
  readonly kube: Pick<Kube, 'get' | 'list'>;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly signal: AbortSignal;
  readonly print: (lines: readonly string[]) => void;
}

/**
 * Prints the missing condition whenever it changes. Resolves with undefined when the cluster has
 * settled, or with the last missing condition when the signal aborts.
 */
export async function waitUntilSettled(watch: ClusterWait): Promise<string | undefined> {
  const { kube, clock, signal, print } = watch;
  const ask = async (): Promise<string | undefined> => {
    const version = await kube.get(clusterVersionRef, signal);
    return clusterNotSettled(version, await kube.list({ kind: clusterOperators }, signal));
  };
  let missing: string | undefined = 'its state is not known';
  for (;;) {
    const now = await ask().catch((thrown: unknown) => asAgentError(thrown).message);
    // An aborted request says nothing about the cluster.
    if (signal.aborted) return missing;
    if (now === undefined) return undefined;
    const line = plainLine(now);
    if (line !== missing) print([`cluster: ${line}`]);
    missing = line;
    await clock.sleep(pause, signal).catch(() => undefined);
  }
}
