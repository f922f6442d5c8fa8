import * as z from 'zod';
import {
  etcdCluster,
  etcdHandover,
  etcdNamespace,
  type EtcdStanding,
  threeHealthyMembers,
} from '../../cluster/etcd.ts';
import { pods } from '../../cluster/kinds.ts';
import { fact } from '../../engine/fact.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { Look, Watch } from '../../engine/wait.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import { failuresOf, type FailureTable } from '../../model/failure.ts';
import type { Kube } from '../../ports/kube.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { step, type StepScope } from '../step.ts';
import {
  type Followed,
  followed,
  followedOne,
  gapAmong,
  gapIn,
  longestWait,
  together,
} from './kube-watch.ts';
import {
  readUnitLife,
  renderUnitLife,
  unitLifeArgv,
  unitMonitorArgv,
  unitStatus,
  unitStatusArgv,
  unitWatch,
} from './systemd-unit.ts';

/** What can go wrong with etcd of the cluster that is being born. */
export const etcdFailures = {
  'cluster.etcd-not-overridden': {
    kind: 'cluster',
    title: 'The etcd operator did not keep the override',
    hint: 'look at the object etcd/cluster and at who else writes it: oc get etcd cluster -o yaml',
  },
  'cluster.etcd-not-restored': {
    kind: 'cluster',
    title: 'The override of the etcd operator could not be taken back',
    hint: 'look at spec.unsupportedConfigOverrides of etcd/cluster and at who else writes it',
  },
  'cluster.etcd-bootstrap-failed': {
    kind: 'cluster',
    title: 'The bootstrap of the cluster was not brought to its end',
    hint: 'read the log of progress.service and of bootkube.service on the bootstrap host',
  },
} as const satisfies FailureTable;

/** Builds an error about etcd. */
export const etcdFailure = failuresOf(etcdFailures);

const EtcdHandoverSchema = z.strictObject({
  /** It was seen that etcd needs the bootstrap host no more; else it is only likely. */
  isSeen: z.boolean(),
});

/** Whether etcd of the cluster has left the bootstrap host. */
export const EtcdHandover = fact('cluster.etcd-handover', EtcdHandoverSchema);
export type EtcdHandover = z.infer<typeof EtcdHandoverSchema>;

/** Tells the cluster that its bootstrap is over, and ends then (openshift/installer). */
const unit = 'progress.service';

/** How much of what systemd says goes into the failure. */
const reasonLength = 1000;

/**
 * Waits until the bootstrap is declared complete, upon which the etcd operator takes the member on
 * this host away. A unit that failed for good ends the wait; systemd starts it again by itself
 * before it says so.
 */
export const waitForEtcd = step({
  id: 'cluster/wait-for-etcd',
  title: 'Wait until the bootstrap of etcd is complete',
  stage: 'Waiting for bootkube',
  stageInfo: () => 'waiting for ETCD bootstrap to be complete',
  uses: ['host'],
  needs: { controlPlane: ControlPlane },
  limit: longestWait + minutes(10),
  waitsFor: `${unit} to have ended`,
  preview: () => [unitMonitorArgv([unit]), unitLifeArgv(unit), unitStatusArgv(unit)],
  run: async (scope) => {
    const { host, until, signal, note } = scope;
    await until('the bootstrap of etcd is complete', () => look(scope), {
      watch: unitWatch(host, [unit]),
      every: seconds(5),
      within: longestWait,
    });
    note('info', `${unit} has ended`, { status: await unitStatus(host, unit, signal) });
  },
});

async function look({ host, signal }: StepScope<'host'>): Promise<Look<true>> {
  const life = await readUnitLife(host, unit, signal);
  if (life.state === 'inactive') return { done: true };
  const status = renderUnitLife(unit, life);
  if (life.state !== 'failed') return { status };
  const told = await unitStatus(host, unit, signal);
  throw etcdFailure('cluster.etcd-bootstrap-failed', status, {
    context: { unit, result: life.result, log: told.slice(-reasonLength) },
  });
}

/**
 * openshift-install waits without a limit of its own, as the usual seconds can become minutes
 * (openshift/installer #9295, OCPBUGS-46363); the minute of the fallback comes on top of this.
 */
const longestHandover = minutes(10);

/**
 * Waits until etcd has left the bootstrap host. A host that reboots earlier takes a member of etcd
 * away and may take the cluster down with it (OCPBUGS-5988). When it cannot be seen, the installation
 * goes on all the same, and the reboot waits a minute instead.
 */
export const waitForEtcdHandover = step({
  id: 'cluster/wait-for-etcd-handover',
  title: 'Wait until etcd has left the bootstrap host',
  uses: ['kube'],
  needs: { controlPlane: ControlPlane },
  gives: EtcdHandover,
  limit: longestHandover + minutes(2),
  waitsFor: 'the etcd operator to remove the member on this host, at most 10 minutes',
  run: async ({ kube, until, signal, note }) => {
    const etcds = followedOne(kube, etcdCluster);
    try {
      const isSeen = await until('etcd has left the bootstrap host', () => lookAt(etcds), {
        watch: etcds.watch,
        every: seconds(30),
        within: longestHandover,
      });
      if (!isSeen) note('warn', 'the etcd operator has no object; what it does cannot be seen');
      return { isSeen };
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = asAgentError(error);
      note('warn', 'it was not seen that etcd has left this host', { code, reason: message });
      return { isSeen: false };
    }
  },
});

function lookAt(etcds: Followed): Promise<Look<boolean>> {
  const view = etcds.view();
  const gap = gapIn(view);
  if (gap !== undefined) return Promise.resolve({ status: gap });
  const [etcd] = view.objects;
  if (etcd === undefined) return Promise.resolve({ done: false });
  const { isReached, status } = etcdHandover(etcd);
  return Promise.resolve(isReached ? { done: true } : { status });
}

/** The members of etcd, as they are followed. */
interface FollowedMembers {
  /** Whether three of them are healthy, and what is missing. */
  readonly standing: () => EtcdStanding;
  readonly watch: Watch;
}

/** Follows the members of etcd for a wait. */
function followMembers(kube: Kube): FollowedMembers {
  const etcds = followedOne(kube, etcdCluster);
  const members = followed(kube, { kind: pods, namespace: etcdNamespace });
  return {
    standing: () => {
      const gap = gapAmong(etcds, members);
      return gap === undefined
        ? threeHealthyMembers(etcds.view().objects[0], members.view().objects)
        : { isReached: false, status: gap };
    },
    watch: together(etcds.watch, members.watch),
  };
}

/**
 * Waits until etcd can lose a member, a day unless told.
 * @throws AgentError `wait.timed-out`, `kube.denied`
 */
export async function waitForThreeMembers(
  { kube, until }: StepScope<'kube'>,
  within: Millis = longestWait,
): Promise<void> {
  const members = followMembers(kube);
  const look = (): Promise<Look<true>> => {
    const { isReached, status } = members.standing();
    return Promise.resolve(isReached ? { done: true } : { status });
  };
  await until('three members of etcd are healthy', look, {
    watch: members.watch,
    every: seconds(30),
    within,
  });
}
