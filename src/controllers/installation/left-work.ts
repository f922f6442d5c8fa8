import {
  etcdCluster,
  etcdNamespace,
  type EtcdStatus,
  recordedBefore,
  threeHealthyMembers,
} from '../../cluster/etcd.ts';
import { machineConfigPools, machineOSConfigs, pods } from '../../kube/kinds.ts';
import { asAgentError, noteFailed } from '../../engine/failures.ts';
import { textAt } from '../../kube/object.ts';
import { endPause, isPaused, pausedSince } from '../../layering/api/machine-config-pool.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import { type KubeObject, selectionOf } from '../../ports/kube.ts';
import { gapIn, isForbidden } from '../../ports/kube-failures.ts';
import { putEtcdBack } from '../../steps/cluster/etcd-override.ts';
import { longestWait, followedOne, together } from '../../steps/cluster/kube-watch.ts';
import {
  etcdDonePatch,
  type LeftRecord,
  readRecord,
  recordRef,
} from '../../steps/cluster/left-record.ts';
import { changePause } from '../../steps/cluster/pool-pause.ts';
import { performActions } from '../../kube/actions.ts';
import { informer } from '../../kube/informer.ts';
import type { Controller } from '../../kube/manager.ts';
import { controllerStep } from './step.ts';
import type { InstallationScope } from './stores.ts';

/** The one key of the controller. */
const etcdKey = 'settings of etcd';

/**
 * Puts the settings of etcd back that the bootstrap host has changed, once etcd has three members.
 * What is done is taken off the record, so that the next controller continues.
 */
export function leftController(scope: InstallationScope): Controller {
  const { kube, note } = scope;
  const records = informer(scope, selectionOf(recordRef));
  const etcds = informer(scope, selectionOf(etcdCluster));
  const members = informer(scope, { kind: pods, namespace: etcdNamespace });
  const recordIn = recordReader(scope);
  const seenOf = (record: KubeObject | undefined, etcd: KubeObject | undefined): LeftSeen => ({
    record: recordIn(record),
    etcd,
    members: threeHealthyMembers(etcd, members.all()),
  });
  const seenNow = (): LeftSeen => seenOf(records.all()[0], etcds.all()[0]);
  return {
    id: 'controller/do-left-work',
    title: 'Put the settings of etcd back that the bootstrap host has changed',
    idle: 'the bootstrap host has left nothing',
    reads: [records, etcds, members],
    about: (work) => work,
    keys: () => [etcdKey],
    watch: (add) => {
      for (const { onChange } of [records, etcds, members]) {
        onChange(() => {
          add(etcdKey);
        });
      }
    },
    settle: seconds(1),
    reconcile: async (_, signal) => {
      const seen = seenNow();
      await performActions<LeftSeen, LeftAction>(
        {
          seen,
          decide: decideLeft,
          readAgain: async (_action, inner) => {
            const [found, etcd] = await Promise.all([
              kube.get(recordRef, inner),
              kube.get(etcdCluster, inner),
            ]);
            return seenOf(found, etcd);
          },
          table: {
            etcd: async ({ record }, inner) => {
              await putEtcdBack({ kube, note, signal: inner });
              if (record !== undefined) await kube.patch(recordRef, etcdDonePatch, inner);
            },
          },
        },
        signal,
      );
      const { isReached, status } = seen.members;
      if (!isEtcdLeft(seenNow())) return {};
      return { status: isReached ? `being done: ${etcdKey}` : status };
    },
  };
}

/** The record, where it can be read. */
function recordReader({ note }: Pick<InstallationScope, 'note'>) {
  let noted = '';
  return (found: KubeObject | undefined): LeftRecord | undefined => {
    if (found === undefined) return undefined;
    try {
      return readRecord(found);
    } catch (error) {
      const { code, message, hint } = asAgentError(error);
      if (noted !== code) note('warn', message, { code, hint });
      noted = code;
      return undefined;
    }
  };
}

/** What is known of the work. */
export interface LeftSeen {
  readonly record: LeftRecord | undefined;
  readonly etcd: KubeObject | undefined;
  readonly members: EtcdStatus;
}

interface LeftAction {
  readonly type: 'etcd';
  readonly target: string;
  readonly record: LeftRecord | undefined;
}

/**
 * Whether settings of etcd are to be put back. The annotation of etcd/cluster counts without a
 * record too: a bootstrap host may have died before it could leave one.
 */
function isEtcdLeft({ record, etcd }: Pick<LeftSeen, 'record' | 'etcd'>): boolean {
  const isAnnotated = etcd !== undefined && recordedBefore(etcd) !== undefined;
  return record?.isEtcdOverridden === true || isAnnotated;
}

/** What is done now. Nothing is while etcd cannot lose a member: it restarts them all. */
export const decideLeft = (seen: LeftSeen): readonly LeftAction[] =>
  seen.members.isReached && isEtcdLeft(seen)
    ? [{ type: 'etcd', target: 'cluster', record: seen.record }]
    : [];

/** With a service: the installation has ended by then, and nobody else waits. */
const longestLeft: Millis = minutes(30);

/**
 * Waits until what the bootstrap host has left is done, and removes its record. After half an hour,
 * or a day without a service, the record stays, and says what remains for a person, or to a
 * controller that is started again.
 */
export const removeLeftRecord = controllerStep({
  id: 'controller/remove-record',
  title: 'Remove the record of the bootstrap host',
  uses: ['kube', 'clock'],
  limit: longestWait + minutes(5),
  run: async (scope) => {
    const { kube, until, signal, config } = scope;
    const records = followedOne(kube, recordRef);
    const etcds = followedOne(kube, etcdCluster);
    const recordIn = recordReader(scope);
    const poll = () => {
      const [there, { lastError, isSynced }] = [records.view(), etcds.view()];
      // A role that names neither kind has been given by a bootstrap host that leaves nothing.
      if (isForbidden(there.lastError)) return Promise.resolve({ done: false });
      const gap = gapIn(there) ?? (isSynced || lastError ? undefined : gapIn(etcds.view()));
      if (gap !== undefined) return Promise.resolve({ status: gap });
      const record = recordIn(there.objects[0]);
      const isLeft = isEtcdLeft({ record, etcd: etcds.view().objects[0] });
      return Promise.resolve(
        isLeft ? { status: `not done yet: ${etcdKey}` } : { done: record !== undefined },
      );
    };
    try {
      const isThere = await until('what the bootstrap host has left is done', poll, {
        watch: together(records.watch, etcds.watch),
        within: config.service.url.isEmpty ? longestWait : longestLeft,
      });
      if (isThere) await kube.remove(recordRef, signal);
    } catch (error) {
      noteFailed(scope, 'the record of the bootstrap host stays in the cluster', error);
    }
  },
});

/**
 * The pools whose nodes are served their image while the bootstrap host hands it over; one may be
 * read, and not be watched.
 */
const servedPools = ['master', 'arbiter', 'worker'] as const;

interface PauseSeen {
  readonly pool: KubeObject | undefined;
  readonly osConfig: KubeObject | undefined;
}

interface LeftPause {
  readonly type: 'unpause';
  /** Name of the pool. */
  readonly target: string;
  readonly pool: KubeObject;
}

/**
 * The end of the pause of a pool whose image is handed over. One without its image keeps it, or its
 * nodes would lose theirs.
 */
export function pausesLeft({ pool, osConfig }: PauseSeen): readonly LeftPause[] {
  if (pool === undefined || pausedSince(pool, 'handOver') === '') return [];
  const isHandedOver = textAt(osConfig, 'status', 'currentImagePullSpec') !== '';
  // A person has ended the pause, and may pause the pool again.
  const isOver = !isPaused(pool);
  return isHandedOver || isOver ? [{ type: 'unpause', target: pool.metadata.name, pool }] : [];
}

/**
 * Unpauses each pool whose image is handed over: the bootstrap host may have been stopped before it
 * could.
 */
export function unpauseController({ kube, note }: InstallationScope): Controller {
  const read = async (name: string, signal: AbortSignal): Promise<PauseSeen> => {
    const pool = await kube.get({ kind: machineConfigPools, name }, signal);
    if (pausedSince(pool, 'handOver') === '') return { pool, osConfig: undefined };
    return { pool, osConfig: await kube.get({ kind: machineOSConfigs, name }, signal) };
  };
  return {
    id: 'controller/unpause-pools',
    title: 'Unpause pools that the bootstrap host has left paused',
    idle: 'pools are read each minute',
    reads: [],
    about: (pool) => `pause of pool ${pool}`,
    keys: () => servedPools,
    watch: () => undefined,
    reconcile: async (name, signal) => {
      await performActions(
        {
          seen: await read(name, signal),
          decide: pausesLeft,
          readAgain: (_, inner) => read(name, inner),
          table: {
            unpause: async ({ pool }, inner) => {
              const since = pausedSince(pool, 'handOver');
              await changePause({ kube, signal: inner }, pool, (one) =>
                endPause(one, 'handOver', since),
              );
              note('info', `MachineConfigPool ${name} is no longer paused for its hand-over`);
            },
          },
        },
        signal,
      );
      return { after: minutes(1) };
    },
  };
}
