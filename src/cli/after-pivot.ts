import { systemClock } from '../adapters/clock.ts';
import { noJournal } from '../adapters/journal/no-journal.ts';
import { kubeCluster } from '../adapters/kube/kube.ts';
import { openLog } from '../adapters/logging/log-sink.ts';
import { systemRandom } from '../adapters/random.ts';
import type { Environment } from '../config/environment.ts';
import { fingerprintOf } from '../config/fingerprint.ts';
import { checkConfig } from '../config/load.ts';
import { runRole } from '../engine/run.ts';
import { afterPivot } from '../roles/after-pivot.ts';
import { clusterCredentials } from './after-pivot-credentials.ts';
import { eventHub } from './event-hub.ts';
import { exitCodeOf, failureText } from './failure-text.ts';
import { stopSignal } from './stop-signal.ts';
import { version } from './version.ts';

/** What `after-pivot` is asked for. */
export interface AfterPivotCall {
  readonly environment: Environment;
  /** File with the credentials; those of the pod without it. */
  readonly kubeconfig?: string;
  /** Log at level debug. */
  readonly isVerbose: boolean;
}

/**
 * Follows the bootstrap host into its cluster and resolves with the exit code. A stop ends it within
 * four seconds, by the code of the signal; whatever was begun is gone on with by the next run.
 */
export async function runAfterPivot(call: AfterPivotCall): Promise<number> {
  using stop = stopSignal();
  const credentials = await clusterCredentials(call.environment, call.kubeconfig);
  // Nothing of an installation's configuration is asked for by these steps.
  const { config } = checkConfig([]);
  const hub = eventHub(systemClock, systemRandom.uuid());
  const log = openLog({
    level: call.isVerbose ? 'debug' : 'info',
    format: process.stdout.isTTY ? 'pretty' : 'json',
    mask: (text) => text,
  });
  hub.add(log.sink);
  const common = { clock: systemClock, random: systemRandom };
  const kube = kubeCluster({ ...common, credentials, tell: hub.tell });
  let failure: string | undefined;
  try {
    await runRole({
      role: afterPivot,
      config,
      ports: { ...common, kube },
      clock: systemClock,
      journal: noJournal,
      header: { version, fingerprint: fingerprintOf(config), bootId: 'none' },
      run: hub.run,
      sinks: [hub.sink],
      signal: stop.signal,
    });
    return 0;
  } catch (thrown) {
    const exitCode = stop.exitCode();
    if (exitCode !== undefined) return exitCode;
    failure = failureText(thrown);
    return exitCodeOf(thrown);
  } finally {
    await kube.close();
    await log.close();
    if (failure !== undefined) process.stderr.write(failure);
  }
}
