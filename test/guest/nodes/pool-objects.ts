import type { KubeClient } from '../../../mocks/kube/client.ts';
import {
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  machineOSConfigs,
  namespaces,
  nodes,
  podDisruptionBudgets,
  pods,
  serviceAccounts,
} from '../../../src/kube/kinds.ts';
import { countAt } from '../../../src/kube/object.ts';
import { nodeKeys } from '../../../src/layering/api/node-keys.ts';
import {
  buildKeys,
  handedOverStatus,
  seededBuildStatus,
} from '../../../src/layering/api/os-build.ts';
import { operatorNamespace } from '../../../src/layering/manifests/bootstrap-manifests.ts';
import type { KubeObject } from '../../../src/ports/kube.ts';
import { nodeAgentManifests } from '../../../src/controllers/node/manifests.ts';
import { deployedKinds, serviceAccountOf } from '../../kube/cluster-access.ts';

/** The pool of the machines; no operator runs it. */
export const pool = 'worker';

/** Its rendered MachineConfig. */
export const rendered = 'rendered-worker-1';

const apiVersion = 'machineconfiguration.openshift.io/v1';
const selected = { [`node-role.kubernetes.io/${pool}`]: '' };
/** As the API has it, by the second. */
const moment = (): string => `${new Date().toISOString().slice(0, -5)}Z`;

/** Puts a pool with its MachineConfig there, and what agents may do. */
export async function putPool(client: KubeClient, osImageURL: string): Promise<void> {
  const metadata = { name: operatorNamespace };
  await client.apply(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
  await client.apply(serviceAccounts, serviceAccountOf('default'));
  for (const object of nodeAgentManifests('registry.example/bootwright')) {
    const kind = deployedKinds[object.kind ?? ''];
    if (kind !== undefined) await client.apply(kind, object);
  }
  await client.apply(machineConfigs, {
    apiVersion,
    kind: 'MachineConfig',
    metadata: { name: rendered },
    spec: { osImageURL, config: { ignition: { version: '3.2.0' } } },
  });
  await client.apply(machineConfigPools, {
    apiVersion,
    kind: 'MachineConfigPool',
    metadata: { name: pool },
    spec: {
      nodeSelector: { matchLabels: selected },
      configuration: { name: rendered },
      maxUnavailable: 1,
    },
  });
}

/** The MachineOSConfig of the pool, before an image was handed over. */
export async function putOSConfig(client: KubeClient, repository: string): Promise<void> {
  await client.apply(machineOSConfigs, {
    apiVersion,
    kind: 'MachineOSConfig',
    metadata: { name: pool },
    spec: {
      machineConfigPool: { name: pool },
      imageBuilder: { imageBuilderType: 'Job' },
      renderedImagePushSecret: { name: 'push' },
      renderedImagePushSpec: `${repository}:latest`,
      containerFile: [{ content: 'FROM configs AS final\n' }],
    },
  });
}

/**
 * Hands an image over to the pool, as an installation does; one that was handed over before counts
 * once more.
 */
export async function handOver(client: KubeClient, name: string, image: string): Promise<void> {
  const ref = { kind: machineOSBuilds, name };
  const osConfig = { kind: machineOSConfigs, name: pool };
  if ((await client.get(ref)) === undefined) {
    await client.apply(machineOSBuilds, {
      apiVersion,
      kind: 'MachineOSBuild',
      metadata: { name },
      spec: {
        machineConfig: { name: rendered },
        machineOSConfig: { name: pool },
        renderedImagePushSpec: `${image.split('@')[0] ?? ''}:${name}`,
      },
    });
    await client.mergeStatus(ref, seededBuildStatus(image, new Date(), new Date()));
  }
  const annotations = { [buildKeys.currentBuild]: name };
  const { metadata } = await client.merge(osConfig, { metadata: { annotations } });
  const generation = countAt({ metadata }, 'metadata', 'generation');
  await client.mergeStatus(osConfig, handedOverStatus({ name, image, generation }));
}

/** Puts a node there that was installed with an image, as its kubelet and its first boot do. */
export async function putNode(
  client: KubeClient,
  { name, zone, image }: Readonly<Record<'name' | 'zone' | 'image', string>>,
): Promise<void> {
  await client.create(nodes, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      // By zone the controller goes first.
      labels: { ...selected, 'topology.kubernetes.io/zone': zone },
      annotations: {
        [nodeKeys.currentConfig]: rendered,
        [nodeKeys.desiredConfig]: rendered,
        [nodeKeys.currentImage]: image,
        [nodeKeys.desiredImage]: image,
        [nodeKeys.state]: 'Done',
      },
    },
  });
}

/** Sets whether a node is Ready, like its kubelet or the node lifecycle controller. */
export async function setReady(client: KubeClient, name: string, isReady: boolean): Promise<void> {
  const condition = {
    type: 'Ready',
    status: isReady ? 'True' : 'Unknown',
    reason: 'x',
    message: 'x',
    lastHeartbeatTime: moment(),
    lastTransitionTime: moment(),
  };
  await client.mergeStatus({ kind: nodes, name }, { conditions: [condition] });
}

/** Puts a pod on a node whose budget blocks an eviction. */
export async function putKeptPod(client: KubeClient, name: string, nodeName: string) {
  const metadata = { name, namespace: 'default', labels: { app: name } };
  await client.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: {
      nodeName,
      automountServiceAccountToken: false,
      // Nothing here ends it.
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'c', image: 'registry.example/kept' }],
    },
  });
  const conditions = [{ type: 'Ready', status: 'True' }];
  const ref = { namespace: 'default', name };
  await client.mergeStatus({ kind: pods, ...ref }, { phase: 'Running', conditions });
  await client.create(podDisruptionBudgets, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata,
    spec: { minAvailable: 1, selector: { matchLabels: { app: name } } },
  });
  await allowDisruptions(client, name, 0);
}

/** As the controller of budgets writes it, which does not run here. */
export const allowDisruptions = (
  client: KubeClient,
  name: string,
  disruptionsAllowed: number,
): Promise<KubeObject> =>
  client.mergeStatus(
    { kind: podDisruptionBudgets, namespace: 'default', name },
    {
      disruptionsAllowed,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
      observedGeneration: 1,
    },
  );
