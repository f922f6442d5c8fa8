import { systemPorts } from '../adapters/clock.ts';
import { poolControllers } from '../controllers/pools/controllers.ts';
import { operatorNamespace } from '../layering/manifests/bootstrap-manifests.ts';
import { nodeControllerLease } from '../layering/roll-out/ownership.ts';
import { runControllers } from '../kube/manager.ts';
import { commandCredentials, followingCluster } from './cluster.ts';
import { ownPod } from './controller.ts';
import { type PodCall, runInPod } from './run-context.ts';

/**
 * Reconciles pools that the Machine Config Operator does not handle, until a signal stops it. Of
 * several controllers one works; the others wait for the lease `bootwright-node-controller`.
 * Resolves with the exit code of the signal.
 */
export async function runNodeController(call: PodCall): Promise<number> {
  const credentials = await commandCredentials(call.environment, call.kubeconfig);
  return runInPod(call, async ({ emit, signal, metrics }) => {
    await using open = new AsyncDisposableStack();
    const kube = followingCluster({ credentials, emit });
    open.defer(kube.close);
    const ports = { ...systemPorts, kube, emit };
    await runControllers(
      { ...ports, signal },
      {
        ...poolControllers({ ...ports, namespace: operatorNamespace }),
        queueOpened: metrics?.queueOpened,
        lease: {
          lease: nodeControllerLease,
          namespace: operatorNamespace,
          // Its own pod is identified by its UID. On a single node it waits no longer than
          // elsewhere.
          pod: ownPod(),
          isSingleNode: false,
        },
      },
    );
  });
}
