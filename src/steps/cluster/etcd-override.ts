import * as z from 'zod';
import {
  etcdCluster,
  isOverridden,
  isRestored,
  needsOverride,
  overridePatch,
  overridesOf,
  recordedBefore,
  restorePatch,
} from '../../cluster/etcd.ts';
import type { Config } from '../../config/schema.ts';
import { fact } from '../../engine/fact.ts';
import { condition } from '../../engine/condition.ts';
import type { Look } from '../../engine/wait.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { step } from '../step.ts';
import { etcdFailure, waitForThreeMembers } from './wait-for-etcd.ts';
import { type Followed, followedOne, gapIn, longestWait } from './kube-watch.ts';

const EtcdOverrideSchema = z.strictObject({
  isSet: z.boolean(),
  /** The overrides that were there before; null when there were none. */
  before: z.json(),
});

/** etcd of the cluster was let start with less than three members. */
export const EtcdOverride = fact('cluster.etcd-override', EtcdOverrideSchema);
export type EtcdOverride = z.infer<typeof EtcdOverrideSchema>;

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
