// Actions of a person on the day after: applies deploy/layering, runs a workload with a budget, and
// changes the images of nodes.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { KubeObject, KubeSelection } from '../../../src/ports/kube.ts';
import { fileOf, keyOf, partAt, textIn } from '../../layering/objects.ts';
import { type BuiltPool, type LayeredSite, repositoryOf } from '../../layering/plan.ts';
import { operatorNamespace } from '../layering/controllers.ts';
import { objectIn, objectsIn } from '../object-files.ts';
import { isKindName, kindOf, kinds, renderedName } from '../objects.ts';
import { type ClusterWork, secretData } from '../site.ts';

const folder = join(import.meta.dirname, '..', '..', '..', 'deploy', 'layering');

/** Applies deploy/layering unchanged; its image name stands for our own image. */
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

/** The number of pods that its budget requires: all of them, so that none may be evicted. */
export const wantedPods = 2;

/** The pods of the workload. */
export const workload: KubeSelection = { kind: kinds.Pod, namespace: 'shop' };

/** Creates a workload whose pods cannot be evicted; with one pod more, one may be. */
export async function putWorkload(
  { kube: { client } }: ClusterWork,
  replicas = wantedPods,
): Promise<void> {
  for (const object of objectsIn('workload', { replicas }))
    await client.apply(kindOf(object), object);
}

/** The change for workers beside their image. */
export const workerChange = {
  kernelArgument: 'audit=1',
  file: { path: '/etc/day-2', text: 'the day after\n' },
} as const;

/** Name of a pool's new MachineConfig. */
const renderedTwo = (pool: BuiltPool): string => `rendered-${pool}-${'2'.repeat(32)}`;

/**
 * Builds another image for a pool on a host with a MachineConfig of its own, hands it over, and
 * makes the pool use both.
 */
export async function changePool(
  work: ClusterWork,
  { plan }: LayeredSite,
  { pool, host }: { readonly pool: BuiltPool; readonly host: string },
): Promise<void> {
  const { client } = work.kube;
  const rendered = await renderedAgain(work, pool);
  await client.apply(kinds.MachineConfig, rendered);
  const osConfig = await client.get({ kind: kinds.MachineOSConfig, name: pool });
  if (osConfig === undefined) throw new Error(`there is no MachineOSConfig ${pool}`);
  const name = `${pool}-day-2`;
  const to = `${repositoryOf(plan, pool)}:${name}`;
  const content = 'FROM configs AS final\nRUN dnf install -y strace && ostree container commit\n';
  const spec = {
    ...(osConfig['spec'] as object),
    containerFile: [{ content }],
    renderedImagePushSpec: to,
  };
  const written = { apiVersion, kind: 'MachineOSConfig', metadata: { name: pool }, spec };
  const digest = await buildImage(work, { host, name, osConfig: written, rendered });
  const image = `${repositoryOf(plan, pool)}@${digest}`;
  await handOver(work, { osConfig, name, to, image, rendered: renderedTwo(pool) });
  const configuration = { apiVersion, kind: 'MachineConfig', name: renderedTwo(pool) };
  await client.merge({ kind: kinds.MachineConfigPool, name: pool }, { spec: { configuration } });
}

const apiVersion = 'machineconfiguration.openshift.io/v1';

/** The MachineConfig of a pool under another name; for workers with their change. */
async function renderedAgain(
  { kube: { client } }: ClusterWork,
  pool: BuiltPool,
): Promise<KubeObject> {
  const before = await client.get({ kind: kinds.MachineConfig, name: renderedName(pool) });
  const spec = (before?.['spec'] ?? {}) as Readonly<Record<string, unknown>>;
  const { kernelArgument, file } = workerChange;
  const files = [partAt(spec, 'config', 'storage', 'files') ?? []].flat();
  const config = {
    ...(spec['config'] as object),
    storage: { files: [...files, fileOf(file.path, file.text)] },
  };
  const kernelArguments = [...[spec['kernelArguments'] ?? []].flat(), kernelArgument];
  const annotations = before?.metadata.annotations ?? {};
  return {
    apiVersion,
    kind: 'MachineConfig',
    metadata: { name: renderedTwo(pool), annotations },
    spec: pool === 'worker' ? { ...spec, config, kernelArguments } : spec,
  };
}

interface ImageBuild {
  readonly host: string;
  readonly name: string;
  readonly osConfig: object;
  readonly rendered: object;
}

/**
 * Runs `bootwright layer build` in a container on a host, as its administrator; returns the digest
 * of the image.
 */
async function buildImage(
  work: ClusterWork,
  { host, name, osConfig, rendered }: ImageBuild,
): Promise<string> {
  const folder = '/run/build';
  const files = {
    osConfig: `${folder}/os-config.json`,
    rendered: `${folder}/machine-config.json`,
    push: `${folder}/push.json`,
    digest: `${folder}/digest`,
  };
  const secret = textIn(osConfig, 'spec', 'renderedImagePushSecret', 'name');
  const push = await secretData(work, { namespace: operatorNamespace, name: secret });
  const program = await work.startJob({
    name: `build-${name}`,
    podId: `build-${name}`,
    args: [
      ...['layer', 'build', '--on-host', '--os-config', files.osConfig],
      ...['--rendered-config', files.rendered],
      ...['--push-authfile', files.push, '--digestfile', files.digest],
    ],
    env: {},
    hostPid: host,
    files: {
      [files.osConfig]: JSON.stringify(osConfig),
      [files.rendered]: JSON.stringify(rendered),
      [files.push]: push['.dockerconfigjson'] ?? '',
      [files.digest]: '',
    },
    signal: work.signal,
  });
  work.logs.set(`build-${name}`, program.log);
  const exitCode = await program.ended;
  if (exitCode !== 0) throw new Error(`layer build ended with ${exitCode}: ${program.log()}`);
  return program.textOf(files.digest);
}

interface HandedOver {
  readonly osConfig: KubeObject;
  readonly name: string;
  readonly to: string;
  readonly image: string;
  readonly rendered: string;
}

/** Writes the image of a pool for a MachineConfig into the operator's objects in the cluster. */
async function handOver(
  { kube: { client } }: ClusterWork,
  { osConfig, name, to, image, rendered }: HandedOver,
): Promise<void> {
  const pool = osConfig.metadata.name;
  const now = Date.now();
  const at = (millis: number): string => `${new Date(millis).toISOString().slice(0, -5)}Z`;
  await client.create(kinds.MachineOSBuild, objectIn('os-build', { name, rendered, pool, to }));
  const build = { kind: kinds.MachineOSBuild, name };
  await client.mergeStatus(build, { buildStart: at(now) });
  await client.mergeStatus(build, {
    buildEnd: at(now + 1000),
    digestedImagePushSpec: image,
    conditions: ['Prepared', 'Building', 'Failed', 'Interrupted', 'Succeeded'].map((type) => ({
      type,
      status: type === 'Succeeded' ? 'True' : 'False',
      reason: 'Ready',
      message: 'built by a person',
      lastTransitionTime: at(now),
    })),
  });
  const annotations = { [keyOf('current-machine-os-build')]: name };
  const ref = { kind: kinds.MachineOSConfig, name: pool };
  const { metadata } = await client.merge(ref, { metadata: { annotations } });
  await client.mergeStatus(ref, {
    currentImagePullSpec: image,
    observedGeneration: partAt(metadata, 'generation'),
    machineOSBuild: {
      group: 'machineconfiguration.openshift.io',
      resource: 'machineosbuilds',
      name,
    },
  });
}
