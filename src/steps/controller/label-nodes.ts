import { machineConfigPools, nodes as nodeKind } from '../../cluster/kinds.ts';
import { readinessOf } from '../../cluster/node.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import {
  beginPause,
  endPause,
  isPaused,
  pausedSince,
} from '../../layering/api/machine-config-pool.ts';
import type { InstallingHost } from '../../ports/inventory.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import { gapIn, isForbidden } from '../../ports/kube-failures.ts';
import { hostIndexOf, nodesByHost } from '../cluster/inventory-hosts.ts';
import { followed, together } from '../cluster/kube-watch.ts';
import { changePause } from '../cluster/pool-pause.ts';
import { cleanUpSignal } from './failures.ts';
import { type Action, type Decision, noLimit, reconcile } from '../reconcile.ts';
import { type ControllerScope, controllerStep, followedInstallation } from './world.ts';

/** The pool that a worker is in until its labels put it into its own. */
const workerPool: KubeRef = { kind: machineConfigPools, name: 'worker' };

/**
 * Gives nodes the labels that users want on them, each as soon as it is Ready. A worker for a pool of its own is in the
 * pool `worker` until it has its labels, whose operator would give it another configuration meanwhile: that pool is
 * paused while such a worker joins.
 */
export const labelNodes = controllerStep({
  id: 'controller/label-nodes',
  title: 'Give nodes the labels of their hosts',
  uses: ['inventory', 'kube', 'clock'],
  limit: noLimit,
  waitsFor: 'each host with labels to be a node that is Ready',
  run: async (scope) => {
    const service = followedInstallation(scope.inventory);
    const nodes = followed(scope.kube, { kind: nodeKind });
    const pool = poolOf(scope);
    // The pause never outlives the controller; one that dies finds its annotation when it starts again.
    scope.onExit(async () => {
      const limits = [cleanUpSignal(scope.signal), AbortSignal.timeout(seconds(2))];
      if (pool.last() === 'ours') await pool.set(false, AbortSignal.any(limits));
    }, 'always');
    await reconcile<LabelsSeen, LabelAction>(scope, 'each node has the labels of its host', {
      watch: together(service.watch, nodes.watch),
      observe: async (signal) => {
        const hosts = service.view().cluster?.hosts;
        const seen = { hosts, nodes: nodes.view().objects, gap: gapIn(nodes.view()) };
        // Read once for what an earlier run has left, and again only while it matters.
        const isOfUse = pool.last() === 'unread' || workersToMove(seen).length > 0;
        return { ...seen, pool: isOfUse ? await pool.read(signal) : pool.last() };
      },
      decide: labelActions,
      apply: async (action, signal) => {
        if ('isPaused' in action) await pool.set(action.isPaused, signal);
        else await label(scope, action, signal);
      },
    });
  },
});

/** The pool of workers: paused by us, by another, not at all, or not to be read or changed. */
type PoolState = 'unread' | 'ours' | 'others' | 'running' | 'forbidden';

interface LabelsSeen {
  /** Undefined until the service has listed them. */
  readonly hosts: readonly InstallingHost[] | undefined;
  readonly nodes: readonly KubeObject[];
  /** Why the nodes may not be all. */
  readonly gap: string | undefined;
  readonly pool: PoolState;
}

interface NodeLabels extends Action {
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
}

type LabelAction = NodeLabels | (Action & { readonly isPaused: boolean });

/** The labels and the pause that are due. */
export function labelActions(seen: LabelsSeen): Decision<LabelAction> {
  const { hosts, gap, pool } = seen;
  if (hosts === undefined) return { actions: [], missing: 'the service has not answered yet' };
  const open = unlabelled(seen);
  const labels = open.flatMap(({ host, node }): readonly LabelAction[] =>
    node !== undefined && readinessOf(node).isReady
      ? [
          {
            key: `labels of node ${node.metadata.name}`,
            node: node.metadata.name,
            labels: host.labels,
          },
        ]
      : [],
  );
  const pauses = pausesDue(seen);
  const names = open.map(({ host: { name, id } }) => name || id);
  const waiting = names.length > 0 ? `labels of ${names.join(', ')}` : undefined;
  const unknown = hosts.some(hasLabels) && pool === 'unread' ? poolText : undefined;
  return { actions: [...pauses, ...labels], missing: waiting ?? gap ?? pauses[0]?.key ?? unknown };
}

const poolText = 'the pause of MachineConfigPool worker';

function pausesDue(seen: LabelsSeen): readonly LabelAction[] {
  const isNeeded = workersToMove(seen).length > 0;
  if (isNeeded && seen.pool === 'running') return [{ key: poolText, isPaused: true }];
  // Nodes that are not all known may lack their labels.
  const isOver = !isNeeded && seen.gap === undefined;
  return isOver && seen.pool === 'ours' ? [{ key: poolText, isPaused: false }] : [];
}

const hasLabels = ({ labels, status }: InstallingHost): boolean =>
  status !== 'error' && Object.keys(labels).length > 0;

interface OpenHost {
  readonly host: InstallingHost;
  readonly node: KubeObject | undefined;
}

/** Hosts that lack labels on their nodes, or nodes. */
function unlabelled({ hosts = [], nodes }: Omit<LabelsSeen, 'pool'>): readonly OpenHost[] {
  const wanted = hosts.filter(hasLabels);
  if (wanted.length === 0) return [];
  const found = nodesByHost(nodes, hostIndexOf(wanted));
  return wanted.flatMap((host) => {
    const node = found.get(host.id);
    const there = node?.metadata.labels ?? {};
    const isDone =
      node !== undefined &&
      Object.entries(host.labels).every(([name, value]) => there[name] === value);
    return isDone ? [] : [{ host, node }];
  });
}

/** Workers that are to leave the pool `worker`, and are in it or have asked for their Ignition. */
const workersToMove = (seen: Omit<LabelsSeen, 'pool'>): readonly OpenHost[] =>
  unlabelled(seen).filter(
    ({ host: { role, pool, stage }, node }) =>
      role === 'worker' && pool !== '' && (node !== undefined || stage === 'Configuring'),
  );

async function label(
  { kube, note }: ControllerScope<'kube'>,
  { node, labels }: NodeLabels,
  signal: AbortSignal,
): Promise<void> {
  const patch = { type: 'merge', body: { metadata: { labels } } } as const;
  await kube.patch({ kind: nodeKind, name: node }, patch, signal);
  note('info', `node ${node} has its labels`, { labels: Object.keys(labels).join(', ') });
}

interface WorkerPool {
  readonly last: () => PoolState;
  readonly read: (signal: AbortSignal) => Promise<PoolState>;
  readonly set: (isPaused: boolean, signal: AbortSignal) => Promise<void>;
}

/** How long what was read of the pool counts: others pause it too. */
const readEvery: Millis = seconds(30);

/** The pool of workers, which may be read and not watched (assisted-installer-controller, its role). */
function poolOf({ kube, clock, note }: ControllerScope<'kube' | 'clock'>): WorkerPool {
  let last: PoolState = 'unread';
  let readAt = 0;
  const forbid = (error: unknown): void => {
    if (!isForbidden(error)) throw error;
    const { code, message } = error;
    last = 'forbidden';
    note('warn', 'MachineConfigPool worker cannot be paused', { code, reason: message });
  };
  const readNow = async (signal: AbortSignal): Promise<KubeObject | undefined> => {
    const pool = await kube.get(workerPool, signal);
    const isOurs = pausedSince(pool, 'labels') !== '';
    // One that is paused for its image alone is paused for its labels too.
    const isFree = pausedSince(pool, 'handOver') !== '' || !isPaused(pool);
    last = isOurs && isPaused(pool) ? 'ours' : isFree ? 'running' : 'others';
    readAt = clock.elapsed();
    return pool;
  };
  return {
    last: () => last,
    read: async (signal) => {
      const isFresh = last !== 'unread' && clock.elapsed() - readAt < readEvery;
      if (last === 'forbidden' || isFresh) return last;
      try {
        await readNow(signal);
      } catch (error) {
        signal.throwIfAborted();
        if (isForbidden(error)) forbid(error);
      }
      return last;
    },
    set: async (isToPause, signal) => {
      try {
        const seen = await readNow(signal);
        // A pause of another stays his, and an end of it too.
        if (last !== (isToPause ? 'running' : 'ours')) return;
        // Before it is sent: whoever ends meanwhile must end the pause too.
        if (isToPause) last = 'ours';
        const now = new Date(clock.now()).toISOString();
        const since = pausedSince(seen, 'labels');
        const due = (pool: KubeObject) =>
          isToPause ? beginPause(pool, 'labels', now) : endPause(pool, 'labels', since);
        const found = await changePause({ kube, signal }, seen ?? workerPool.name, due);
        const isOurs = pausedSince(found, 'labels') !== '';
        last = isOurs ? 'ours' : isToPause ? 'others' : 'running';
        if (isOurs === isToPause)
          note('info', `MachineConfigPool worker is ${isToPause ? 'paused' : 'unpaused'}`);
      } catch (error) {
        // It may have been changed all the same.
        readAt = -Infinity;
        forbid(error);
      }
    },
  };
}
