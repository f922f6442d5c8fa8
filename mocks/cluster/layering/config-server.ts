// The machine-config-server: that of the bootstrap host reads files there, that of the cluster its objects.
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { KubeObject } from '../../../src/ports/kube.ts';
import { servesImages } from '../../layering/plan.ts';
import { controllerConfig, poolPath, renderedPath } from '../../layering/rendered.ts';
import { servedIgnition } from '../../layering/served-config.ts';
import { kinds } from '../objects.ts';
import type { ClusterWork } from '../site.ts';
import { imageOf, partAt } from './objects.ts';

/** Pools that the server of a bootstrap host serves. */
const bootstrapPools = ['master', 'arbiter'];

const preBuiltImage = 'machineconfiguration.openshift.io/pre-built-image';

/** What is served to a pool now; undefined where the server answers 500. */
export async function serveConfig(work: ClusterWork, pool: string): Promise<string | undefined> {
  return work.state().isBootkubeDone ? servedByCluster(work, pool) : servedByBootstrap(work, pool);
}

/** Whether the server of the bootstrap host has all that it needs. */
export const canServe = async (work: ClusterWork): Promise<boolean> =>
  (await fileOn(work, controllerConfig)) !== undefined;

async function servedByBootstrap(work: ClusterWork, pool: string): Promise<string | undefined> {
  if (!bootstrapPools.includes(pool) || !(await canServe(work))) return undefined;
  const poolText = await fileOn(work, poolPath(pool));
  if (poolText === undefined) return undefined;
  const name = partAt(parse(poolText), 'status', 'configuration', 'name');
  const text = await fileOn(work, renderedPath(String(name)));
  if (text === undefined) return undefined;
  const machineConfig = parse(text) as KubeObject;
  const isTold = work.layered !== undefined && servesImages(work.layered.plan);
  const image = isTold ? machineConfig.metadata.annotations?.[preBuiltImage] : undefined;
  return servedIgnition({ machineConfig, image });
}

/** The image of a layered pool comes in once one of its nodes is counted as updated. */
async function servedByCluster(
  { kube: { client }, layered }: ClusterWork,
  name: string,
): Promise<string | undefined> {
  const pool = await client.get({ kind: kinds.MachineConfigPool, name });
  const rendered = partAt(pool, 'status', 'configuration', 'name');
  if (typeof rendered !== 'string') return undefined;
  const machineConfig = await client.get({ kind: kinds.MachineConfig, name: rendered });
  if (machineConfig === undefined) return undefined;
  const osConfig = await client.get({ kind: kinds.MachineOSConfig, name });
  const isRunning = Number(partAt(pool, 'status', 'updatedMachineCount') ?? 0) > 0;
  const isTold = isRunning && layered !== undefined && servesImages(layered.plan);
  const image = isTold ? imageOf(osConfig) : '';
  return servedIgnition({ machineConfig, image: image === '' ? undefined : image });
}

const fileOn = async ({ bootstrap }: ClusterWork, path: string): Promise<string | undefined> =>
  readFile(await bootstrap.files.real(path), 'utf8').catch(() => undefined);
