import { etcdCluster } from '../../cluster/etcd.ts';
import {
  type EtcdStanding,
  etcdNamespace,
  threeHealthyMembers,
} from '../../cluster/etcd-conditions.ts';
import { pods } from '../../cluster/kinds.ts';
import type { Look, Watch } from '../../engine/wait.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { Kube } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';
import { followed, followedOne, gapAmong, longestWait, together } from './cluster-wait.ts';

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
