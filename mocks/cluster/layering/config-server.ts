// The machine-config-server: on the bootstrap host it reads files, in the cluster it reads objects.
import { setTimeout as sleep } from 'node:timers/promises';
import { writeFile } from 'node:fs/promises';
import { parse, parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../../src/ports/kube.ts';
import { placeFor, textOf } from '../../host/files.ts';
import { type LayeredSite, servesImages } from '../../layering/plan.ts';
import {
  bootstrapRendering,
  controllerConfig,
  imageOf,
  partAt,
  poolPath,
  renderedPath,
} from '../../layering/objects.ts';
import { servedIgnition } from '../../layering/served-config.ts';
import { readManifests } from '../manifests.ts';
import { kinds } from '../objects.ts';
import type { ClusterWork } from '../site.ts';

/** Pools that the server of a bootstrap host serves. */
const bootstrapPools = ['master', 'arbiter'];

const preBuiltImage = 'machineconfiguration.openshift.io/pre-built-image';

/** The config that is served to a pool now; undefined where the server answers 500. */
export async function serveConfig(work: ClusterWork, pool: string): Promise<string | undefined> {
  return work.state().isBootkubeDone ? servedByCluster(work, pool) : servedByBootstrap(work, pool);
}

/** Whether the server of the bootstrap host has all its files. */
const canServe = (work: ClusterWork): boolean => fileOn(work, controllerConfig) !== undefined;

function servedByBootstrap(work: ClusterWork, pool: string): string | undefined {
  if (!bootstrapPools.includes(pool) || !canServe(work)) return undefined;
  const poolText = fileOn(work, poolPath(pool));
  if (poolText === undefined) return undefined;
  const name = partAt(parse(poolText), 'status', 'configuration', 'name');
  const text = fileOn(work, renderedPath(String(name)));
  if (text === undefined) return undefined;
  const machineConfig = parse(text) as KubeObject;
  const namesImage = work.layered !== undefined && servesImages(work.layered.plan);
  const image = namesImage ? machineConfig.metadata.annotations?.[preBuiltImage] : undefined;
  return servedIgnition({ machineConfig, image });
}

/** The server adds the image of a layered pool once one of its nodes counts as updated. */
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
  const namesImage = isRunning && layered !== undefined && servesImages(layered.plan);
  const image = namesImage ? imageOf(osConfig) : '';
  return servedIgnition({ machineConfig, image: image === '' ? undefined : image });
}

const fileOn = ({ bootstrap }: ClusterWork, path: string): string | undefined =>
  textOf(bootstrap.files, path);

// The bootstrap controller of the Machine Config Operator.

/**
 * Renders on the bootstrap host, before the API server is up. Fails at a MachineOSConfig without an
 * image (machine-config-operator from 4.21 on).
 */
export async function renderOnBootstrap(work: ClusterWork, layered: LayeredSite): Promise<void> {
  const { files } = work.bootstrap;
  const manifests = await readManifests(files);
  const refused = manifests.find(
    ({ text }) => /^kind: MachineOSConfig$/m.test(text) && !text.includes('pre-built-image'),
  );
  if (refused !== undefined) {
    const { file } = refused;
    layered.incidents.push(`the bootstrap controller cannot render: ${file} names no image`);
    return;
  }
  const found = manifests.flatMap(({ text }) =>
    [parseAllDocuments(text)].flat().map((document) => document.toJS() as unknown),
  );
  for (const [path, text] of bootstrapRendering(layered.plan, found)) {
    await writeFile(placeFor(files, path), text);
  }
}

const POLL_INTERVAL_MILLIS = 100;

/** Waits in the background until the machine-config-server of the bootstrap host can serve. */
export function awaitRelease(work: ClusterWork): void {
  const wait = async (): Promise<void> => {
    while (!canServe(work)) {
      await sleep(POLL_INTERVAL_MILLIS, undefined, { signal: work.signal });
    }
    work.emit({ kind: 'released' });
  };
  wait().catch(() => undefined);
}
