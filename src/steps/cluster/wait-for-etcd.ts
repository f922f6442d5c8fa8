import * as z from 'zod';
import { etcdCluster, etcdHandover } from '../../cluster/etcd.ts';
import { fact } from '../../engine/fact.ts';
import type { PollResult } from '../../engine/wait.ts';
import { noteFailed } from '../../engine/failures.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { step, type StepScope } from '../step.ts';
import { followedOne, longestWait, untilSeen } from './kube-watch.ts';
import {
  describeGivenUp,
  isGivenUp,
  readUnitProperties,
  unitArgvs,
  unitStatus,
  unitStatusArgv,
  unitTexts,
  unitWatch,
} from '../host/systemd-unit.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { clusterFailure } from './failures.ts';

const EtcdHandoverSchema = z.strictObject({
  /** The removal was observed; otherwise it is only likely. */
  isSeen: z.boolean(),
});

/** Whether etcd of the cluster has left the bootstrap host. */
export const EtcdHandover = fact('cluster.etcd-handover', EtcdHandoverSchema);
export type EtcdHandover = z.infer<typeof EtcdHandoverSchema>;

/** Reports the bootstrap as complete to the cluster and then exits (openshift/installer). */
const unit = 'progress.service';

/**
 * Waits until the bootstrap is reported as complete; then the etcd operator removes the member on
 * this host. systemd restarts a failed unit without end unless a drop-in limits that: only a unit
 * that systemd has given up ends the wait.
 */
export const waitForEtcd = step({
  id: 'cluster/wait-for-etcd',
  title: 'Wait for the etcd bootstrap to complete',
  stage: 'Waiting for bootkube',
  stageInfo: () => 'waiting for ETCD bootstrap to be complete',
  uses: ['host'],
  needs: { controlPlane: ControlPlane },
  limit: longestWait + minutes(10),
  explain: () => `waits for ${unit} to end`,
  preview: () => [...unitArgvs(unit), unitStatusArgv(unit)],
  run: async (scope) => {
    const { host, until, signal, note } = scope;
    await until('the etcd bootstrap is complete', pollOf(scope), {
      watch: unitWatch(host, [unit]),
      every: seconds(5),
      within: longestWait,
    });
    note('info', `${unit} has ended`, { status: await unitStatus(host, unit, signal) });
  },
});

function pollOf({ host }: StepScope<'host'>): (signal: AbortSignal) => Promise<PollResult<true>> {
  const text = unitTexts(unit);
  return async (signal) => {
    const properties = await readUnitProperties(host, unit, signal);
    if (properties.state === 'inactive') return { done: true };
    if (!isGivenUp(properties)) return { status: text(properties) };
    const { message, context } = await describeGivenUp(host, { unit, ...properties }, signal);
    throw clusterFailure('cluster.etcd-bootstrap-failed', message, { context });
  };
}

/**
 * openshift-install has no limit of its own here, because the usual seconds can become minutes
 * (openshift/installer #9295, OCPBUGS-46363). The minute of the fallback is added to this.
 */
const longestHandover = minutes(10);

/**
 * Waits until etcd has left the bootstrap host. A host that reboots earlier takes a member of etcd
 * with it and may stop the cluster (OCPBUGS-5988). If the removal cannot be confirmed, the
 * installation continues, and the reboot is delayed by a minute.
 */
export const waitForEtcdHandover = step({
  id: 'cluster/wait-for-etcd-handover',
  title: 'Wait for etcd to leave the bootstrap host',
  uses: ['kube'],
  needs: { controlPlane: ControlPlane },
  gives: EtcdHandover,
  limit: longestHandover + minutes(2),
  explain: () =>
    'waits for the etcd operator to remove the member on this host, at most 10 minutes',
  run: async (scope) => {
    const etcds = followedOne(scope.kube, etcdCluster);
    const poll = ([etcd]: readonly KubeObject[]): PollResult<boolean> => {
      if (etcd === undefined) return { done: false };
      const { isReached, status } = etcdHandover(etcd);
      return isReached ? { done: true } : { status };
    };
    const until = untilSeen(scope.until, etcds, { within: longestHandover });
    try {
      const isSeen = await until('etcd has left the bootstrap host', poll);
      if (!isSeen)
        scope.note('warn', 'there is no etcd/cluster; cannot check that etcd has left this host');
      return { isSeen };
    } catch (error) {
      noteFailed(scope, 'could not confirm that etcd has left this host; continuing', error);
      return { isSeen: false };
    }
  },
});
