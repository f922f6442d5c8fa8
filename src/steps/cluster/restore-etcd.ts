import { etcdCluster, isRestored, recordedBefore, restorePatch } from '../../cluster/etcd.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { step } from '../step.ts';
import { longestWait } from './cluster-wait.ts';
import { etcdFailure } from './etcd-failures.ts';
import { waitForThreeMembers } from './three-members.ts';

/**
 * Puts back what the record on the object of the etcd operator says, once the cluster can do without
 * the override. Without a record there is nothing to do.
 */
export const restoreEtcd = step({
  id: 'cluster/restore-etcd',
  title: 'Put the settings of etcd back as they were',
  uses: ['kube'],
  // The API server goes away for a while whenever etcd gets or loses a member.
  retry: { attempts: 10, every: seconds(15) },
  limit: longestWait + minutes(30),
  waitsFor: 'three healthy members of etcd, where its settings were changed',
  run: async (scope) => {
    const { kube, signal, note } = scope;
    const found = await kube.get(etcdCluster, signal);
    if (found === undefined || recordedBefore(found) === undefined) {
      note('info', 'the settings of etcd were not changed');
      return;
    }
    await waitForThreeMembers(scope);
    const etcd = await kube.get(etcdCluster, signal);
    const record = etcd && recordedBefore(etcd);
    const patch = etcd && restorePatch(etcd);
    // Another has put it back while this one waited.
    if (record === undefined || patch === undefined) return;
    await kube.patch(etcdCluster, patch, signal);
    const left = await kube.get(etcdCluster, signal);
    if (left === undefined || !isRestored(left, record.before)) {
      throw etcdFailure('cluster.etcd-not-restored', 'etcd/cluster still has the override', {
        context: { object: 'etcd/cluster' },
      });
    }
    note('info', 'the settings of etcd are as they were');
  },
});
