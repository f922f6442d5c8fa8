// What a person does the day after: applies deploy/layering, runs a workload with a budget, and changes what nodes are to be.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { KubeObject, KubeSelection } from '../../../src/ports/kube.ts';
import { fileOf, keyOf, partAt } from '../../layering/objects.ts';
import { builtPools } from '../../layering/plan.ts';
import { isKindName, kinds } from '../objects.ts';
import type { ClusterWork } from '../site.ts';

const folder = join(import.meta.dirname, '..', '..', '..', 'deploy', 'layering');

/** Applies deploy/layering as it stands; the name of the image in it stands for our own. */
export async function applyDeployment({ kube }: ClusterWork): Promise<void> {
  const read = async (name: string): Promise<unknown> =>
    parse(await readFile(join(folder, name), 'utf8')) as unknown;
  const names = [partAt(await read('kustomization.yaml'), 'resources')].flat();
  for (const name of names) {
    const object = (await read(String(name))) as KubeObject;
    const { kind = '' } = object;
    if (!isKindName(kind)) throw new TypeError(`the lab knows no ${kind}`);
    await kube.client.apply(kinds[kind], object);
  }
}

const namespace = 'shop';
const labels = { app: namespace };
const metadata = { name: namespace, namespace };

/** How many pods its budget wants: as many as there are, so that none may go. */
export const wantedPods = 2;

/** The pods of the workload. */
export const workload: KubeSelection = { kind: kinds.Pod, namespace };

const deploymentOf = (replicas: number): KubeObject => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata },
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { containers: [{ name: 'shop', image: 'registry.example.test/shop:1' }] },
    },
  },
});

/** Puts a workload there that no pod can be evicted from. */
export async function putWorkload({ kube: { client } }: ClusterWork): Promise<void> {
  const own = { name: namespace };
  await client.apply(kinds.Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: own });
  const account = { name: 'default', namespace };
  await client.apply(kinds.ServiceAccount, {
    ...{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
  });
  await client.apply(kinds.PodDisruptionBudget, {
    ...{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata },
    spec: { minAvailable: wantedPods, selector: { matchLabels: labels } },
  });
  await client.apply(kinds.Deployment, deploymentOf(wantedPods));
}

/** Runs one more pod of it, so that one may be evicted. */
export const scaleWorkload = ({ kube: { client } }: ClusterWork): Promise<KubeObject> =>
  client.apply(kinds.Deployment, deploymentOf(wantedPods + 1));

/** What workers get beside their image. */
export const workerChange = {
  kernelArgument: 'audit=1',
  file: { path: '/etc/day-2', text: 'the day after\n' },
} as const;

/** Orders another image for each pool. */
export async function orderImages(
  { kube: { client } }: ClusterWork,
  packageName: string,
): Promise<void> {
  const content = `FROM configs AS final\nRUN dnf install -y ${packageName} && ostree container commit\n`;
  for (const name of builtPools) {
    const spec = { containerFile: [{ content }] };
    await client.merge({ kind: kinds.MachineOSConfig, name }, { spec });
  }
}

/** Adds a MachineConfig for workers. */
export async function configureWorkers({ kube: { client } }: ClusterWork): Promise<void> {
  const { kernelArgument, file } = workerChange;
  const files = [fileOf(file.path, file.text)];
  await client.apply(kinds.MachineConfig, {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfig',
    metadata: { name: '50-day-2', labels: { [keyOf('role')]: 'worker' } },
    spec: {
      kernelArguments: [kernelArgument],
      config: { ignition: { version: '3.4.0' }, storage: { files } },
    },
  });
}
