import { etcdCluster, type EtcdStatus, recordedBefore } from '../../cluster/etcd.ts';
import { machineConfigPools, machineOSConfigs } from '../../cluster/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import { untilAborted } from '../../engine/wait.ts';
import { textAt } from '../../layering/api/cluster-object.ts';
import { endPause, isPaused, pausedSince } from '../../layering/api/machine-config-pool.ts';
import type { LeftImage } from '../../layering/hand-over/hand-over.ts';
import { type Millis, minutes } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { gapIn, isForbidden } from '../../ports/kube-failures.ts';
import { putEtcdBack } from '../cluster/etcd-override.ts';
import { gapAmong, longestWait, followedOne, together } from '../cluster/kube-watch.ts';
import {
  etcdDonePatch,
  imagesLeftPatch,
  type LeftRecord,
  readRecord,
  recordRef,
} from '../cluster/left-record.ts';
import { changePause } from '../cluster/pool-pause.ts';
import { followMembers } from '../cluster/wait-for-etcd.ts';
import { type Action, type Decision, noLimit, reconcile } from '../reconcile.ts';
import { type ControllerScope, controllerStep } from './world.ts';

/**
 * Does what the bootstrap host has left for the time when etcd has three members: puts its settings back, and hands OS
 * images over to their pools. What is done is taken off the record, so that a controller that comes later goes on.
 */
export const doLeftWork = controllerStep({
  id: 'controller/do-left-work',
  title: 'Complete what the bootstrap host has left',
  uses: ['kube', 'clock'],
  limit: noLimit,
  waitsFor: 'the bootstrap host to leave, and three healthy members of etcd',
  run: async (scope) => {
    const { kube } = scope;
    const records = followedOne(kube, recordRef);
    const etcds = followedOne(kube, etcdCluster);
    const members = followMembers(kube);
    const recordIn = recordReader(scope);
    const observe = (): LeftSeen => ({
      gap: gapAmong(records, etcds),
      record: recordIn(records.view().objects),
      etcd: etcds.view().objects[0],
      members: members.status(),
    });
    const apply = async ({ work }: LeftAction, signal: AbortSignal): Promise<void> => {
      const { record } = observe();
      if (work === 'etcd') {
        await putEtcdBack({ ...scope, signal });
        if (record !== undefined) await kube.patch(recordRef, etcdDonePatch, signal);
        return;
      }
      let left: readonly LeftImage[] = record?.images ?? [];
      // Few clusters need it, and it is a third of the program.
      const { handOverLeft } = await import('../layering/hand-over-left.ts');
      await handOverLeft({ ...scope, signal }, left, async (image) => {
        left = left.filter((one) => one !== image);
        await kube.patch(recordRef, imagesLeftPatch(left), signal);
      });
    };
    await reconcile<LeftSeen, LeftAction>(scope, 'what the bootstrap host has left is done', {
      watch: together(records.watch, etcds.watch, members.watch),
      ...{ observe, decide: decideLeft, apply },
    });
  },
});

/** The record, where it can be read. */
function recordReader({ note }: Pick<ControllerScope<'kube'>, 'note'>) {
  let noted = '';
  return ([found]: readonly KubeObject[]): LeftRecord | undefined => {
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
  /** Why what was seen may be old. */
  readonly gap: string | undefined;
  readonly record: LeftRecord | undefined;
  readonly etcd: KubeObject | undefined;
  readonly members: EtcdStatus;
}

type Work = 'etcd' | 'images';
type LeftAction = Action & { readonly work: Work };

/**
 * What is still to be done. The annotation of etcd/cluster counts without a record too: a bootstrap host may have died
 * before it could leave one.
 */
export function workLeft({ record, etcd }: Pick<LeftSeen, 'record' | 'etcd'>): readonly Work[] {
  const isAnnotated = etcd !== undefined && recordedBefore(etcd) !== undefined;
  return [
    ...(record?.isEtcdOverridden === true || isAnnotated ? (['etcd'] as const) : []),
    ...((record?.images ?? []).length > 0 ? (['images'] as const) : []),
  ];
}

const keys: Readonly<Record<Work, string>> = {
  etcd: 'settings of etcd',
  images: 'OS images',
};

/** What is done now. Nothing is while etcd cannot lose a member: both restart or replace members of it. */
export function decideLeft(seen: LeftSeen): Decision<LeftAction> {
  const { gap, record, members } = seen;
  const work = workLeft(seen);
  if (gap !== undefined) return { actions: [], missing: gap };
  if (work.length === 0) {
    const nothing = record === undefined ? 'the bootstrap host has left nothing' : 'all is done';
    return { actions: [], missing: nothing };
  }
  if (!members.isReached) return { actions: [], missing: members.status };
  const actions = work.map((one) => ({ key: keys[one], work: one }));
  return { actions, missing: `being done: ${work.map((one) => keys[one]).join(', ')}` };
}

/** With a service: the installation has ended by then, and nobody else waits. */
const longestLeft: Millis = minutes(30);

/**
 * Waits until what the bootstrap host has left is done, and removes its record. After half an hour, or a day without a
 * service, the record stays, and says what is left to a person, or to a controller that is started again.
 */
export const removeLeftRecord = controllerStep({
  id: 'controller/remove-record',
  title: 'Remove the record of the bootstrap host',
  uses: ['kube', 'clock'],
  limit: longestWait + minutes(5),
  waitsFor:
    'the settings of etcd to be put back, and OS images to be handed over, at most 30 minutes; a day without a service',
  run: async (scope) => {
    const { kube, until, signal, note, config } = scope;
    const records = followedOne(kube, recordRef);
    const etcds = followedOne(kube, etcdCluster);
    const recordIn = recordReader(scope);
    const poll = () => {
      const [there, { lastError, isSynced }] = [records.view(), etcds.view()];
      // A role that names neither kind has been given by a bootstrap host that leaves nothing.
      if (isForbidden(there.lastError)) return Promise.resolve({ done: false });
      const gap = gapIn(there) ?? (isSynced || lastError ? undefined : gapIn(etcds.view()));
      if (gap !== undefined) return Promise.resolve({ status: gap });
      const record = recordIn(there.objects);
      const work = workLeft({ record, etcd: etcds.view().objects[0] });
      const left = work.map((one) => keys[one]).join(', ');
      return Promise.resolve(
        work.length === 0 ? { done: record !== undefined } : { status: `not done yet: ${left}` },
      );
    };
    try {
      const isThere = await until('what the bootstrap host has left is done', poll, {
        watch: together(records.watch, etcds.watch),
        within: config.service.url.isEmpty ? longestWait : longestLeft,
      });
      if (isThere) await kube.remove(recordRef, signal);
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = asAgentError(error);
      note('warn', 'the record of the bootstrap host stays in the cluster', {
        code,
        reason: message,
      });
    }
  },
});

/** The pools whose nodes are served their image while the bootstrap host hands it over; one may be read, and not be watched. */
const servedPools = ['master', 'arbiter', 'worker'] as const;

interface LeftPause extends Action {
  readonly pool: string;
  readonly since: string;
}

/**
 * Ends the pause of each pool whose image is handed over: the bootstrap host may have been stopped before it could. One
 * without its image keeps the pause, or its nodes would lose theirs.
 */
export const endLeftPauses = controllerStep({
  id: 'controller/unpause-pools',
  title: 'Unpause pools that the bootstrap host has left paused',
  uses: ['kube', 'clock'],
  limit: noLimit,
  waitsFor: 'nothing: pools are read each minute',
  run: async (scope) => {
    const { kube, note } = scope;
    const leftPause = async (name: string, signal: AbortSignal): Promise<LeftPause | undefined> => {
      const pool = await kube.get({ kind: machineConfigPools, name }, signal);
      const since = pausedSince(pool, 'handOver');
      if (since === '') return undefined;
      const osConfig = await kube.get({ kind: machineOSConfigs, name }, signal);
      const isHandedOver = textAt(osConfig, 'status', 'currentImagePullSpec') !== '';
      // A person has ended the pause, and may pause the pool again.
      const isOver = !isPaused(pool);
      return isHandedOver || isOver
        ? { key: `pause of pool ${name}`, pool: name, since }
        : undefined;
    };
    await reconcile<readonly LeftPause[], LeftPause>(
      scope,
      'no pool is paused after its hand-over',
      {
        watch: (_, signal) => untilAborted(signal),
        every: minutes(1),
        observe: async (signal) => {
          const found = await Promise.all(servedPools.map((pool) => leftPause(pool, signal)));
          return found.filter((one) => one !== undefined);
        },
        decide: (actions) => ({ actions, missing: 'pools are read each minute' }),
        apply: async ({ pool, since }, signal) => {
          await changePause({ kube, signal }, pool, (one) => endPause(one, 'handOver', since));
          note('info', `MachineConfigPool ${pool} is no longer paused for its hand-over`);
        },
      },
    );
  },
});
