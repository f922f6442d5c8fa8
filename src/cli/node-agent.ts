import { kubeCluster } from '../adapters/kube/kube.ts';
import { systemPorts } from '../adapters/clock.ts';
import { nodeAgent } from '../controllers/node/agent.ts';
import { runControllers } from '../kube/manager.ts';
import { commandCredentials } from './cluster.ts';
import { cliFailure } from './failures.ts';
import { runningHost } from './running-host.ts';
import { type PodCall, runInPod } from './run-context.ts';

/**
 * Keeps the node `NODE_NAME` at the desired image and config of its pool, and resolves with the
 * exit code. Only a signal ends it, within four seconds; the next run continues.
 * @throws AgentError `cli.no-node-name`, `cli.not-in-cluster`
 */
export async function runNodeAgent(call: PodCall): Promise<number> {
  const { environment, kubeconfig } = call;
  const nodeName = environment['NODE_NAME'] ?? '';
  if (nodeName === '') throw cliFailure('cli.no-node-name', 'NODE_NAME is not set');
  const credentials = await commandCredentials(environment, kubeconfig);
  return runInPod(call, async ({ emit, signal, metrics }) => {
    const kube = kubeCluster({ ...systemPorts, credentials, emit });
    const host = await runningHost(environment, emit);
    try {
      const ports = { ...systemPorts, kube, host, emit };
      await runControllers(
        { ...ports, signal },
        { ...nodeAgent({ ...ports, nodeName }), queueOpened: metrics?.queueOpened },
      );
    } finally {
      await kube.close();
    }
  });
}
