// What a cluster does at its birth when its operating systems are built.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  bootstrapRendering,
  configurationOf,
  imagesObject,
  poolObject,
  renderedConfig,
} from '../../layering/rendered.ts';
import { builtPools } from '../../layering/plan.ts';
import { kinds } from '../kinds.ts';
import type { ClusterWork } from '../site.ts';
import { canServe } from './config-server.ts';
import { bootFirst } from './first-boot.ts';
import type { LayeredSite } from './site.ts';

const LOOK_EVERY_MILLIS = 100;

/**
 * The bootstrap controller renders on the bootstrap host, before the API server is up. It ends with an error at a
 * MachineOSConfig that names no image (machine-config-operator from 4.21 on).
 */
export async function renderOnBootstrap(
  { bootstrap }: ClusterWork,
  { plan, incidents }: LayeredSite,
): Promise<void> {
  const refused = await manifestWithoutImage(bootstrap.files);
  if (refused !== undefined) {
    incidents.push(`the bootstrap controller cannot render: ${refused} names no image`);
    return;
  }
  for (const [path, text] of bootstrapRendering(plan)) {
    const place = await bootstrap.files.real(path);
    await mkdir(dirname(place), { recursive: true });
    await writeFile(place, text);
  }
}

async function manifestWithoutImage({
  real,
}: ClusterWork['bootstrap']['files']): Promise<string | undefined> {
  for (const folder of ['/opt/openshift/manifests', '/opt/openshift/openshift']) {
    const place = await real(folder);
    for (const name of await readdir(place).catch(() => [])) {
      const text = await readFile(join(place, name), 'utf8').catch(() => '');
      const isOne = /^kind: MachineOSConfig$/m.test(text);
      if (isOne && !text.includes('pre-built-image')) return `${folder}/${name}`;
    }
  }
  return undefined;
}

/** The release brings its pools into the cluster; nothing is rendered yet. */
export async function bringPools({ kube }: ClusterWork): Promise<void> {
  for (const pool of builtPools)
    await kube.api.client.apply(kinds.MachineConfigPool, poolObject(pool));
}

/** The machine-config-controller of the cluster has a master to run on, and renders. */
export async function renderPools({ kube }: ClusterWork, { plan }: LayeredSite): Promise<void> {
  const { client } = kube;
  await client.apply(kinds.ConfigMap, imagesObject(plan));
  for (const pool of builtPools) {
    await client.apply(kinds.MachineConfig, renderedConfig(plan, pool));
    const ref = { kind: kinds.MachineConfigPool, name: pool };
    await client.merge(ref, { spec: { configuration: configurationOf(pool) } });
  }
}

/** Waits, beside everything else, until the machine-config-server of the bootstrap host can serve. */
export function awaitRelease(work: ClusterWork): void {
  const wait = async (): Promise<void> => {
    while (!(await canServe(work))) {
      await sleep(LOOK_EVERY_MILLIS, undefined, { signal: work.signal });
    }
    work.happen({ kind: 'released' });
  };
  wait().catch(() => undefined);
}

/** Lets a host that was given its config start with it, once or twice. */
export async function firstBoot(
  work: ClusterWork,
  layered: LayeredSite,
  host: string,
): Promise<void> {
  const pivots = await bootFirst(work, layered, host);
  work.happen({ kind: 'configuring', host, pivots });
}
