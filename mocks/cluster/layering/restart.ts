// A node that starts anew because somebody on it had it restarted.
import { kinds } from '../kinds.ts';
import type { ClusterWork } from '../site.ts';
import { tellNode } from '../tell-node.ts';
import { startDaemon } from './daemon.ts';
import { recordedOn } from './node-disk.ts';
import { type LayeredSite, machineOf } from './site.ts';
import { startAnew } from './start-anew.ts';
import { wrongWithRestart } from './switch-order.ts';

/** Hosts that run from their disks, and whose restart was ordered on them. */
export const restartingHosts = ({ machines }: LayeredSite): readonly string[] =>
  [...machines].flatMap(([name, { running, reboot }]) =>
    running === undefined || reboot === undefined ? [] : [name],
  );

/** Takes a node away, and brings it back with what was staged on it. */
export async function restartNode(
  work: ClusterWork,
  layered: LayeredSite,
  name: string,
): Promise<void> {
  const machine = machineOf(layered, name);
  const before = layered.systems.get(name);
  const { running } = machine;
  if (running === undefined || before === undefined) return;
  // From here on the restart counts as begun.
  machine.reboot = undefined;
  const image = running.staged ?? running.booted;
  await judgeOrder(work, layered, { name, image });
  layered.power(name, false);
  await startAnew(work, layered, { name, system: { ...before, image } });
  layered.power(name, true);
  await tellNode(work, name, true);
  await startDaemon(work, layered, name);
}

async function judgeOrder(
  { kube: { client } }: ClusterWork,
  layered: LayeredSite,
  { name, image }: { readonly name: string; readonly image: string },
): Promise<void> {
  const nodes = await client.list({ kind: kinds.Node });
  const node = nodes.find(({ metadata }) => metadata.name === name);
  if (node === undefined) return;
  const recorded = await recordedOn(machineOf(layered, name));
  layered.incidents.push(...wrongWithRestart({ node, image, recorded, nodes }));
}
