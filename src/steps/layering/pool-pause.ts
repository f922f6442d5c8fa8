import { machineConfigPools } from '../../cluster/kinds.ts';
import { ifGiven } from '../../engine/fact.ts';
import type { PollResult } from '../../engine/wait.ts';
import { annotationOf, partOf } from '../../layering/api/cluster-object.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { followed, gapIn, longestWait } from '../cluster/kube-watch.ts';
import { step, type StepScope } from '../step.ts';
import { buildsOsImages, unlessServed } from './conditions.ts';
import { BuildRequest, PublishedImages } from './facts.ts';
import { layeringStepFailure } from './failures.ts';

/**
 * On a MachineConfigPool: it is paused by this program, until its image is handed over. It is written with the pause
 * itself, so that any later run can tell the pause from one of an operator.
 */
export const pauseAnnotation = 'bootwright.io/paused-for-hand-over';

const isPaused = (pool: KubeObject): boolean => partOf(pool, 'spec', 'paused') === true;

const isOurs = (pool: KubeObject): boolean => annotationOf(pool, pauseAnnotation) !== '';

type PauseScope = Pick<StepScope<'kube'>, 'kube' | 'signal' | 'note'>;

/**
 * Waits for pools, and pauses each from the moment it exists. As soon as a pool is rendered the node controller may take
 * an image off a node that nobody has handed over; it leaves a paused pool alone. A pool that is paused already stays
 * as it is, also afterwards. A step that is stopped ends its pauses.
 * @throws AgentError `wait.timed-out`, `kube.*`, `layering.not-kept`
 */
export async function pausePools(
  scope: StepScope<'kube'>,
  pools: readonly string[],
): Promise<void> {
  const { kube, signal, until, note, onExit } = scope;
  const all = followed(kube, { kind: machineConfigPools });
  const settled = new Set<string>();
  // The next attempt goes on with the pause; after the last one `layering/unpause-pools` ends it.
  let ended: Promise<unknown> = Promise.resolve();
  const end = (): void => {
    const soon = { kube, note, signal: AbortSignal.timeout(seconds(2)) };
    ended = Promise.all([...settled].map((pool) => unpausePool(soon, pool)));
    ended.catch(() => undefined);
  };
  signal.addEventListener('abort', end, { once: true });
  onExit(async () => {
    signal.removeEventListener('abort', end);
    await ended;
  }, 'always');
  const pause = async (pool: KubeObject): Promise<void> => {
    const { name } = pool.metadata;
    settled.add(name);
    if (!isPaused(pool)) await writePause(scope, name, true);
    else if (!isOurs(pool)) note('info', `MachineConfigPool ${name} is paused by somebody else`);
  };
  const poll = async (): Promise<PollResult<true>> => {
    const view = all.view();
    const gap = gapIn(view);
    if (gap !== undefined) return { status: gap };
    const there = view.objects.filter(({ metadata: { name } }) => pools.includes(name));
    await Promise.all(there.filter(({ metadata: { name } }) => !settled.has(name)).map(pause));
    const missing = pools.filter((name) => !settled.has(name));
    if (missing.length === 0) return { done: true };
    return { status: `MachineConfigPool ${missing.join(', ')} does not exist yet` };
  };
  await until(`MachineConfigPools ${pools.join(', ')} exist`, poll, {
    watch: all.watch,
    every: seconds(30),
    within: longestWait,
  });
}

/**
 * Ends our pause of a pool; one of somebody else stays.
 * @returns whether there was one of ours
 * @throws AgentError `kube.*`, `layering.not-kept`
 */
export async function unpausePool(scope: PauseScope, name: string): Promise<boolean> {
  const found = await scope.kube.get({ kind: machineConfigPools, name }, scope.signal);
  if (found === undefined || !isOurs(found)) return false;
  await writePause(scope, name, false);
  return true;
}

async function writePause(
  { kube, signal }: PauseScope,
  name: string,
  paused: boolean,
): Promise<void> {
  const annotations = { [pauseAnnotation]: paused ? 'true' : null };
  const body = { metadata: { annotations }, spec: { paused } };
  const kept = await kube.patch(
    { kind: machineConfigPools, name },
    { type: 'merge', body },
    signal,
  );
  if (isPaused(kept) === paused && isOurs(kept) === paused) return;
  throw layeringStepFailure(
    'layering.not-kept',
    `machineconfigpools/${name} is not as it was written`,
  );
}

/**
 * Ends the pauses that a hand-over has left which failed for good. It runs before the host is left, too: nobody else
 * would end one.
 */
export const unpausePools = step({
  id: 'layering/unpause-pools',
  title: 'Unpause MachineConfigPools that the hand-over has paused',
  uses: ['kube'],
  needs: { request: ifGiven(BuildRequest), published: ifGiven(PublishedImages) },
  when: buildsOsImages,
  skipIf: ({ request, published }) =>
    request === undefined || published === undefined
      ? 'no OS image was to be handed over yet'
      : unlessServed({ request, published }),
  limit: minutes(2),
  run: async (scope) => {
    const pools = await scope.kube.list({ kind: machineConfigPools }, scope.signal);
    for (const { metadata } of pools.filter(isOurs)) {
      await unpausePool(scope, metadata.name);
      scope.note('warn', `MachineConfigPool ${metadata.name} is unpaused without its OS image`);
    }
  },
});
