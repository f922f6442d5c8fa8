// What a cluster does at its birth when its operating systems are built.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  configurationOf,
  imagesObject,
  poolObject,
  renderedConfig,
} from '../../layering/rendered.ts';
import { builtPools } from '../../layering/plan.ts';
import { kinds } from '../objects.ts';
import type { ClusterWork } from '../site.ts';
import { canServe } from './config-server.ts';
import { bootFirst } from './first-boot.ts';
import type { LayeredSite } from './site.ts';

const LOOK_EVERY_MILLIS = 100;

/** The release brings its pools into the cluster; nothing is rendered yet. */
export async function bringPools({ kube }: ClusterWork): Promise<void> {
  for (const pool of builtPools)
    await kube.api.client.apply(kinds.MachineConfigPool, poolObject(pool));
}

/** The machine-config-controller of the cluster has a master to run on, and renders. */
export async function renderPools({ kube }: ClusterWork, { plan }: LayeredSite): Promise<void> {
  const { client } = kube;
  await client.apply(kinds.ConfigMap, imagesObject(plan));
  const machineConfigs = await client.list({ kind: kinds.MachineConfig });
  for (const pool of builtPools) {
    await client.apply(kinds.MachineConfig, renderedConfig(plan, pool, machineConfigs));
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
