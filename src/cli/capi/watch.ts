import { systemClock } from '../../adapters/clock.ts';
import {
  changeLines,
  clusterEnd,
  type ClusterObjects,
  failureLines,
  followCluster,
} from '../../capi/cluster-objects.ts';
import { renderDuration } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import { type ClusterCall, clusterTarget } from '../cluster.ts';
import { printAt, printNote } from '../messages.ts';
import { stopSignal } from '../stop-signal.ts';
import { limitIn, printWaiting } from '../waiting.ts';
import { capiFailure } from './folder.ts';

/** Arguments of `capi watch`. */
interface CapiWatchCall extends ClusterCall {
  /** As 90m; without it there is no limit. */
  readonly timeout?: string;
  readonly failFast: boolean;
}

/**
 * Prints a line for each change of a Cluster's installation until it is over (R40 to R43). Resolves with 0 once the cluster is available and all
 * of its hosts are installed, or with the code of a signal.
 * @throws AgentError `capi.cluster-not-found`, `capi.cluster-deleted`, `capi.installation-failed`, `capi.not-installed`; `cli.bad-flag`,
 * `cli.not-in-cluster`, `config.file-not-read`, `kube.bad-credentials`
 */
export async function runCapiWatch(call: CapiWatchCall): Promise<number> {
  const limit = limitIn(call.timeout);
  await using target = await clusterTarget('capi watch', call);
  using stop = stopSignal();
  const title = `Cluster ${target.namespace}/${target.name}`;
  const over = new AbortController();
  const signal = AbortSignal.any([stop.signal, over.signal]);
  const seenFirst = Promise.withResolvers<void>();
  let first: ClusterObjects | undefined;
  let latest: ClusterObjects | undefined;
  let gap: string | undefined;
  let failure: AgentError | undefined;
  const end = (thrown?: AgentError): void => {
    failure = thrown;
    over.abort();
  };
  const seen = (objects: ClusterObjects, lastError: string | undefined): void => {
    if (over.signal.aborted) return;
    if (lastError !== gap) printNote('note', lastError ?? 'the management cluster answers again');
    gap = lastError;
    // What is not listed is not there, and what is not watched has not changed.
    if (lastError !== undefined) return;
    seenFirst.resolve();
    printAt(changeLines(latest, objects));
    const ended = clusterEnd(first, objects);
    first ??= objects;
    latest = objects;
    if (ended === 'installed') {
      printAt([`${title}: installed`]);
      end();
    } else if (ended !== undefined) {
      const code = ended === 'deleted' ? 'capi.cluster-deleted' : 'capi.cluster-not-found';
      end(capiFailure(code, `${title} is not there`));
    } else if (call.failFast) {
      const failed = failureOf(objects);
      if (failed !== undefined) end(failed);
    }
  };
  const timedOut = (): void => {
    const message = `${title} is not installed within ${renderDuration(limit ?? 0)}`;
    end((latest && failureOf(latest)) ?? capiFailure('capi.not-installed', message));
  };
  if (limit !== undefined) void systemClock.sleep(limit, signal).then(timedOut, () => undefined);
  signal.addEventListener('abort', () => seenFirst.resolve(), { once: true });
  await Promise.all([
    printWaiting(
      () => `the objects of ${title}`,
      () => seenFirst.promise,
    ),
    followCluster(target.kube, target, { seen, signal }),
  ]);
  if (stop.exitCode() !== undefined || !over.signal.aborted) return stop.endCode();
  if (failure !== undefined) throw failure;
  return 0;
}

/** Why an installation cannot be waited for any more; undefined where nothing has failed. */
function failureOf(objects: ClusterObjects): AgentError | undefined {
  const lines = failureLines(objects);
  if (lines.length === 0) return undefined;
  return capiFailure(
    'capi.installation-failed',
    lines.map((line) => line.replace(/^failed: /, '')).join('; '),
  );
}
