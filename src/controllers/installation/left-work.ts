import {
  etcdCluster,
  etcdNamespace,
  recordedBefore,
  threeHealthyMembers,
} from '../../cluster/etcd.ts';
import { asAgentError, noteFailed } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { informer } from '../../kube/informer.ts';
import { machineConfigPools, machineOSConfigs, pods } from '../../kube/kinds.ts';
import type { Controller } from '../../kube/manager.ts';
import { textAt } from '../../kube/object.ts';
import { endPause, isPaused, pausedSince } from '../../layering/api/machine-config-pool.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import { type KubeObject, selectionOf } from '../../ports/kube.ts';
import { gapIn, isForbidden } from '../../ports/kube-failures.ts';
import { putEtcdBack } from '../../steps/cluster/etcd-override.ts';
import { followedOne, longestWait, combineWatches } from '../../steps/cluster/kube-watch.ts';
import {
  etcdDonePatch,
  type LeftRecord,
  readRecord,
  recordRef,
} from '../../steps/cluster/left-record.ts';
import { changePause } from '../../steps/cluster/pool-pause.ts';
import type { InstallationScope, StepScope } from './scope.ts';

/** The only key of the controller. */
const etcdKey = 'settings of etcd';

/**
 * Restores the settings of etcd that the bootstrap host has changed, once etcd has three healthy
 * members: the restore restarts them all, so none may be missing. Done work is removed from the
 * record, so that the next controller continues.
 */
export function leftController(scope: InstallationScope): Controller {
  const { kube, note } = scope;
  const records = informer(scope, selectionOf(recordRef));
  const etcds = informer(scope, selectionOf(etcdCluster));
  const members = informer(scope, { kind: pods, namespace: etcdNamespace });
  const recordIn = recordReader(scope);
  const reads = [records, etcds, members];
  return {
    id: 'controller/do-left-work',
    title: 'Restore the etcd settings that the bootstrap host changed',
    idle: 'the bootstrap host has left nothing',
    reads,
    about: (key) => key,
    keys: () => [etcdKey],
    watch: (add) => {
      for (const { onChange } of reads) onChange(() => add(etcdKey));
    },
    settle: seconds(1),
    reconcile: async (_, signal) => {
      const [seen] = etcds.all();
      if (!isEtcdLeft(recordIn(records.all()[0]), seen)) return {};
      const { isReached, status } = threeHealthyMembers(seen, members.all());
      if (!isReached) return { status };
      // Read right before the write: another controller may have restored them, or a member may
      // have failed.
      const [found, etcd] = await Promise.all([
        kube.get(recordRef, signal),
        kube.get(etcdCluster, signal),
      ]);
      const record = recordIn(found);
      if (isEtcdLeft(record, etcd) && threeHealthyMembers(etcd, members.all()).isReached) {
        await putEtcdBack({ kube, note, signal });
        if (record !== undefined) await kube.patch(recordRef, etcdDonePatch, signal);
      }
      return { status: `being done: ${etcdKey}` };
    },
  };
}

/** Reads the record, if it is readable. */
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

/**
 * Whether settings of etcd have to be restored. The annotation of etcd/cluster counts even without
 * a record: a bootstrap host may have crashed before it could write one.
 */
export const isEtcdLeft = (record: LeftRecord | undefined, etcd: KubeObject | undefined): boolean =>
  record?.isEtcdOverridden === true || (etcd !== undefined && recordedBefore(etcd) !== undefined);

/** With a service the installation has ended by then, and no other program waits. */
const longestLeft: Millis = minutes(30);

/**
 * Waits until the work that the bootstrap host has left is done, and deletes its record. After half
 * an hour, or a day without a service, the record stays: it names the remaining work for a person,
 * or for a restarted controller.
 */
export async function removeLeftRecord(scope: StepScope): Promise<void> {
  const { kube, until, signal, config } = scope;
  const records = followedOne(kube, recordRef);
  const etcds = followedOne(kube, etcdCluster);
  const recordIn = recordReader(scope);
  const poll = (): PollResult<boolean> => {
    // A role without these kinds comes from a bootstrap host that leaves no work.
    if (isForbidden(records.view().lastError)) return { done: false };
    const { isSynced, lastError } = etcds.view();
    const gap = gapIn(records.view()) ?? (isSynced || lastError ? undefined : gapIn(etcds.view()));
    if (gap !== undefined) return { status: gap };
    const record = recordIn(records.view().objects[0]);
    return isEtcdLeft(record, etcds.view().objects[0])
      ? { status: `not done yet: ${etcdKey}` }
      : { done: record !== undefined };
  };
  try {
    const isThere = await until('what the bootstrap host has left is done', poll, {
      watch: combineWatches(records.watch, etcds.watch),
      within: config.service.url.isEmpty ? longestWait : longestLeft,
    });
    if (isThere) await kube.remove(recordRef, signal);
  } catch (error) {
    noteFailed(scope, 'the record of the bootstrap host stays in the cluster', error);
  }
}

/**
 * The pools whose nodes are served their image while the bootstrap host hands it over. The role of
 * the controller may read each, and not watch it.
 */
const servedPools = ['master', 'arbiter', 'worker'] as const;

/**
 * Unpauses each pool whose image is handed over: the bootstrap host may have been stopped before it
 * could. A pool whose image is not handed over keeps its pause; otherwise the operator would remove
 * the image from its nodes.
 */
export const unpauseController = ({ kube, note }: InstallationScope): Controller => ({
  id: 'controller/unpause-pools',
  title: 'Unpause pools that the bootstrap host left paused',
  idle: 'pools are read each minute',
  reads: [],
  about: (pool) => `pause of pool ${pool}`,
  keys: () => servedPools,
  watch: () => undefined,
  reconcile: async (name, signal) => {
    const pool = await kube.get({ kind: machineConfigPools, name }, signal);
    const since = pausedSince(pool, 'handOver');
    if (pool === undefined || since === '') return { after: minutes(1) };
    const osConfig = await kube.get({ kind: machineOSConfigs, name }, signal);
    const isHandedOver = textAt(osConfig, 'status', 'currentImagePullSpec') !== '';
    // A person who has ended the pause may pause the pool again.
    if (isHandedOver || !isPaused(pool)) {
      await changePause({ kube, signal }, pool, (now) => endPause(now, 'handOver', since));
      note('info', `MachineConfigPool ${name} is no longer paused for its hand-over`);
    }
    return { after: minutes(1) };
  },
});
