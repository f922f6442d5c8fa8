import { machineConfigPools, machineOSConfigs, nodes as nodeKind } from '../../kube/kinds.ts';
import { ifGiven } from '../../engine/fact.ts';
import type { PollResult } from '../../engine/wait.ts';
import {
  beginPause,
  endPause,
  isPaused,
  pausedSince,
} from '../../layering/api/machine-config-pool.ts';
import { nodesAtRisk, nodesWithout } from '../../layering/hand-over/pool-status.ts';
import { minutes } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { followed, untilSeen } from '../cluster/kube-watch.ts';
import { changePause } from '../cluster/pool-pause.ts';
import { buildsOsImages } from '../conditions.ts';
import { step, type StepScope } from '../step.ts';
import { whyRelease } from './conditions.ts';
import { type PublishedPool, PublishedPools } from './facts.ts';

/** Pools paused by Bootwright, with the time of each pause. */
export type HeldPools = Map<string, string>;

/** The command with which a person ends a pause of an earlier run. */
const endsBy =
  'run the same "podman run" line again, or: bootwright layer unpause --kubeconfig FILE';

/**
 * Waits for pools, and pauses each from the moment it exists. As soon as a pool is rendered, the
 * node controller may remove the image from a node whose pool is not handed over; it leaves a
 * paused pool unchanged. A pool that a person paused stays paused, also afterwards. A stopped run
 * keeps the pauses, because they protect the images of its nodes, and names the pools that it may
 * have paused: it makes no request for that, so a slow connection does not matter.
 * @param held has each pool from before its pause on; `unpausePool` removes it
 * @throws AgentError `wait.timed-out`, `kube.*`, `layering.not-kept`
 */
export async function pausePools(
  scope: StepScope<'kube' | 'clock'>,
  pools: readonly string[],
  held: HeldPools,
): Promise<void> {
  const { kube, clock, signal, note, onExit } = scope;
  const settled = new Set<string>();
  const now = new Date(clock.now()).toISOString();
  const nameHeld = (): void => {
    const names = [...held.keys()].join(', ');
    const why = 'so that no node loses its OS image';
    const text = `MachineConfigPools ${names} may be left paused, ${why}; to end it: ${endsBy}`;
    if (names !== '') note('warn', text, { pools: names });
  };
  signal.addEventListener('abort', nameHeld, { once: true });
  onExit(() => {
    signal.removeEventListener('abort', nameHeld);
    // A run may be stopped before the next attempt, too.
    if (!signal.aborted) nameHeld();
    return Promise.resolve();
  }, 'always');
  const pause = async (pool: KubeObject): Promise<void> => {
    const { name } = pool.metadata;
    settled.add(name);
    // An answer may be lost or late.
    held.set(name, now);
    const found = await changePause(scope, pool, (one) => beginPause(one, 'handOver', now));
    const since = pausedSince(found, 'handOver');
    held.set(name, since);
    if (since !== '') return;
    held.delete(name);
    if (isPaused(found)) note('info', `MachineConfigPool ${name} is paused by somebody else`);
    // It was removed, and is created again.
    else settled.delete(name);
  };
  const poll = async (objects: readonly KubeObject[]): Promise<PollResult<true>> => {
    const there = objects.filter(({ metadata: { name } }) => pools.includes(name));
    await Promise.all(there.filter(({ metadata: { name } }) => !settled.has(name)).map(pause));
    const missing = pools.filter((name) => !settled.has(name));
    if (missing.length === 0) return { done: true };
    return { status: `MachineConfigPool ${missing.join(', ')} does not exist yet` };
  };
  const until = untilSeen(scope.until, followed(kube, { kind: machineConfigPools }));
  await until(`MachineConfigPools ${pools.join(', ')} exist`, poll);
}

/**
 * Ends the pause of a pool that is handed over; a pause that a person changed since stays.
 * @throws AgentError `kube.*`, `layering.not-kept`
 */
export async function unpausePool(
  scope: StepScope<'kube'>,
  name: string,
  held: HeldPools,
): Promise<void> {
  const since = held.get(name);
  if (since === undefined) return;
  const found = await changePause(scope, name, (pool) => endPause(pool, 'handOver', since));
  held.delete(name);
  if (isPaused(found)) scope.note('info', `MachineConfigPool ${name} is paused by somebody else`);
}

/**
 * Logs the names of joined nodes that lost their OS image, or never had it: the operator rolls it
 * out to them.
 * @throws AgentError `kube.*`
 */
export async function reportLostImages(
  { kube, signal, note }: StepScope<'kube'>,
  published: readonly PublishedPool[],
): Promise<void> {
  const [pools, nodes] = await Promise.all([
    kube.list({ kind: machineConfigPools }, signal),
    kube.list({ kind: nodeKind }, signal),
  ]);
  for (const { pool, final } of published) {
    const names = nodesWithout(final, pool, { pools, nodes }).join(', ');
    if (names === '') continue;
    const text = `pool ${pool}: ${names} lost the OS image; it is rolled out again after the hand-over`;
    note('warn', text, { pool, nodes: names, image: final });
  }
}

/**
 * Ends the pauses of a hand-over that failed for good. It runs before the reboot too, because no
 * other component ends one. A pool whose nodes would lose their images stays paused, for another
 * run or a person.
 */
export const unpausePools = step({
  id: 'layering/unpause-pools',
  title: 'Unpause MachineConfigPools that the hand-over has paused',
  uses: ['kube'],
  needs: { published: ifGiven(PublishedPools) },
  when: buildsOsImages,
  skipIf: ({ published }) =>
    published === undefined ? 'no OS image was to be handed over yet' : whyRelease(published),
  limit: minutes(5),
  run: async (scope) => {
    const { kube, signal, note } = scope;
    const pools = await kube.list({ kind: machineConfigPools }, signal);
    const ours = pools.filter((pool) => pausedSince(pool, 'handOver') !== '');
    if (ours.length === 0) return;
    const [nodes, osConfigs] = await Promise.all([
      kube.list({ kind: nodeKind }, signal),
      kube.list({ kind: machineOSConfigs }, signal),
    ]);
    for (const pool of ours) {
      const { name } = pool.metadata;
      const atRisk = nodesAtRisk(name, { pools, nodes, osConfigs }).join(', ');
      if (atRisk === '') {
        await unpausePool(scope, name, new Map([[name, pausedSince(pool, 'handOver')]]));
        note('warn', `MachineConfigPool ${name} is unpaused without its OS image`);
      } else {
        const why = `or ${atRisk} would lose the OS image`;
        note('warn', `MachineConfigPool ${name} stays paused, ${why}: ${endsBy}`, { pools: name });
      }
    }
  },
});
