// A node whose host goes down and starts from its disk.
import { setTimeout as sleep } from 'node:timers/promises';
import { restartFromDisk } from '../../host/installed-system.ts';
import { type ClusterWork, tellNode } from '../site.ts';
import { type LayeredSite, machineOf, type NodeSystem } from './site.ts';

/** Takes a node away, and starts its host with what is staged on it; the node is not Ready yet. */
export async function startAnew(
  work: ClusterWork,
  layered: LayeredSite,
  { name, system }: { readonly name: string; readonly system: NodeSystem },
): Promise<void> {
  work.tenants.evict(name);
  await tellNode(work, name, false);
  layered.restarted(name);
  await sleep(work.plan.pace.bootSeconds * 1000, undefined, { signal: work.signal });
  layered.systems.set(name, system);
  work.bootIds.renew(name, await restartFromDisk(machineOf(layered, name)));
}
