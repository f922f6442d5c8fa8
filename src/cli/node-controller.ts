import { systemClock } from '../adapters/clock.ts';
import { kubeCluster } from '../adapters/kube/kube.ts';
import { systemRandom } from '../adapters/random.ts';
import { operatorNamespace } from '../layering/manifests/bootstrap-manifests.ts';
import { nodeControllerLease } from '../layering/roll-out/ownership.ts';
import { nodeController } from '../roles/node-controller.ts';
import { holdLease } from '../reconcile/lease.ts';
import { clusterCredentials } from './cluster.ts';
import { ownPod } from './controller.ts';
import { withoutJournal } from './run-context.ts';
import { type WatchedCall, watchedBy } from './watchers.ts';

/** Arguments of `node controller`. */
interface NodeControllerCall extends WatchedCall {
  /** File with the credentials of the cluster; default: those of the pod. */
  readonly kubeconfig?: string;
  /** Log at level debug. */
  readonly verbose: boolean;
}

const common = { clock: systemClock, random: systemRandom };

/**
 * Runs pools that the cluster's own operator does not run, until it is stopped; of several one works, and the others wait
 * for the lease `bootwright-node-controller`. Resolves with the exit code: that of the signal.
 */
export async function runNodeController(call: NodeControllerCall): Promise<number> {
  const credentials = await clusterCredentials(call.environment, call.kubeconfig);
  const level = call.verbose ? 'debug' : 'info';
  const watched = watchedBy(call, { 'bootwright.role': 'node-controller' });
  return withoutJournal({ level, stream: 'stdout', watched }, async ({ emit, run, signal }) => {
    await using open = new AsyncDisposableStack();
    const kube = kubeCluster({ ...common, credentials, emit });
    open.defer(kube.close);
    const ports = { ...common, kube };
    const step = 'node-controller/hold-lease';
    const lease = await holdLease(
      {
        ...{ ...ports, signal },
        note: (level, message, fields = {}) => {
          emit({ type: 'note', step, level, message, fields });
        },
      },
      {
        ...{ lease: nodeControllerLease, namespace: operatorNamespace },
        // Its own pod counts by its id; on a single node it waits no longer than elsewhere.
        ...{ pod: ownPod(), isSingleNode: false },
      },
    );
    open.defer(lease.release);
    const config = { namespace: operatorNamespace };
    await run({ role: nodeController, config, ports, until: lease.lost });
  });
}
