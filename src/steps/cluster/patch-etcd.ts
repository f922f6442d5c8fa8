import {
  etcdCluster,
  isOverridden,
  needsOverride,
  overridePatch,
  overridesOf,
  recordedBefore,
} from '../../cluster/etcd.ts';
import type { Config } from '../../config/schema.ts';
import { condition } from '../../engine/condition.ts';
import type { Look } from '../../engine/wait.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { ControlPlane } from '../bootstrap/facts.ts';
import { step } from '../step.ts';
import { followedOne, type Followed, gapIn, longestWait } from './cluster-wait.ts';
import { EtcdOverride } from './etcd-facts.ts';
import { etcdFailure } from './etcd-failures.ts';

const needsEtcdOverride = condition<Config>(
  'etcd of this release is to be let start with less than three members',
  ({ cluster, bootstrap }) => needsOverride(cluster.openshiftVersion, bootstrap.etcdOverride),
);

/**
 * Lets etcd of old releases start while the bootstrap host is not yet a member. What was there before
 * is recorded on the object itself, so that it can be put back by whoever comes after this host has
 * gone. It belongs behind the wait for two masters: with the flag the operator is content with one
 * member beside that of the bootstrap host (cluster-etcd-operator 4.6, `canRemoveEtcdBootstrap`).
 */
export const patchEtcd = step({
  id: 'cluster/patch-etcd',
  title: 'Let etcd start with less than three members',
  uses: ['kube'],
  needs: { controlPlane: ControlPlane },
  gives: EtcdOverride,
  when: needsEtcdOverride,
  // The API server goes away for a while whenever etcd gets or loses a member.
  retry: { attempts: 10, every: seconds(15) },
  limit: longestWait + minutes(30),
  waitsFor: 'the object of the etcd operator',
  explain: ({ cluster, bootstrap }) =>
    bootstrap.etcdOverride === 'always'
      ? 'bootstrap.etcdOverride says so'
      : `OpenShift ${cluster.openshiftVersion} does not find it out by itself`,
  run: async ({ kube, until, signal }) => {
    const etcds = followedOne(kube, etcdCluster);
    const found = await until('the etcd operator has its object', () => lookFor(etcds), {
      watch: etcds.watch,
      every: seconds(30),
      within: longestWait,
    });
    const record = recordedBefore(found);
    const before = record === undefined ? overridesOf(found) : record.before;
    if (record === undefined || !isOverridden(found)) {
      await kube.patch(etcdCluster, overridePatch(before), signal);
    }
    const kept = await kube.get(etcdCluster, signal);
    if (kept === undefined || !isOverridden(kept) || recordedBefore(kept) === undefined) {
      throw etcdFailure('cluster.etcd-not-overridden', 'etcd/cluster is without the override', {
        context: { object: 'etcd/cluster' },
      });
    }
    return EtcdOverride.schema.parse({ isSet: true, before });
  },
});

function lookFor(etcds: Followed): Promise<Look<KubeObject>> {
  const view = etcds.view();
  const [etcd] = view.objects;
  if (etcd !== undefined) return Promise.resolve({ done: etcd });
  return Promise.resolve({ status: gapIn(view) ?? 'there is no etcd/cluster yet' });
}
