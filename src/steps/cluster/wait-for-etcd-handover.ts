import { etcdCluster } from '../../cluster/etcd.ts';
import { etcdHandover } from '../../cluster/etcd-conditions.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { Look } from '../../engine/wait.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { ControlPlane } from '../bootstrap/facts.ts';
import { step } from '../step.ts';
import { followedOne, type Followed, gapIn } from './cluster-wait.ts';
import { EtcdHandover } from './etcd-facts.ts';

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
