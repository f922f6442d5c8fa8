import { systemClock } from '../adapters/clock.ts';
import { kubeCluster } from '../adapters/kube/kube.ts';
import { systemRandom } from '../adapters/random.ts';
import type { Environment } from '../config/environment.ts';
import { checkConfig } from '../config/load.ts';
import { afterPivot } from '../roles/after-pivot.ts';
import { clusterCredentials } from './cluster.ts';
import { withoutJournal } from './run-context.ts';

/** Arguments of `after-pivot`. */
interface AfterPivotCall {
  readonly environment: Environment;
  /** File with the credentials; default: those of the pod. */
  readonly kubeconfig?: string;
  /** Log at level debug. */
  readonly verbose: boolean;
}

/**
 * Follows the bootstrap host into its cluster and resolves with the exit code. A signal ends it within
 * four seconds, with the code of that signal; the next run resumes the work.
 */
export async function runAfterPivot(call: AfterPivotCall): Promise<number> {
  const credentials = await clusterCredentials(call.environment, call.kubeconfig);
  // These steps use no setting of an installation.
  const { config } = checkConfig([]);
  const common = { clock: systemClock, random: systemRandom };
  const level = call.verbose ? 'debug' : 'info';
  return withoutJournal({ level, stream: 'stdout' }, async ({ emit, run }) => {
    const kube = kubeCluster({ ...common, credentials, emit });
    try {
      await run({ role: afterPivot, config, ports: { ...common, kube } });
    } finally {
      await kube.close();
    }
  });
}
