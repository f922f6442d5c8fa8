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
import type { PollResult } from '../../engine/wait.ts';
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

/** etcd of the cluster was allowed to start with fewer than three members. */
const EtcdOverride = fact('cluster.etcd-override', EtcdOverrideSchema);
type EtcdOverride = z.infer<typeof EtcdOverrideSchema>;

const needsEtcdOverride = condition<Config>(
  'etcd of this release must be allowed to start with fewer than three members',
  ({ cluster, bootstrap }) => needsOverride(cluster.openshiftVersion, bootstrap.etcdOverride),
);

/**
 * Allows etcd of old releases to start with fewer than three members. The previous value is recorded
 * in an annotation of the object, from which it can be restored after this host has left. The patch
 * comes after the wait for two masters: with the flag the operator removes the bootstrap member when
 * there is one other member (cluster-etcd-operator 4.6, `canRemoveEtcdBootstrap`).
 */
export const patchEtcd = step({
  id: 'cluster/patch-etcd',
  title: 'Allow etcd to start with fewer than three members',
  uses: ['kube'],
  needs: { controlPlane: ControlPlane },
  gives: EtcdOverride,
  when: needsEtcdOverride,
  // The API server is unavailable for a while whenever etcd gains or loses a member.
  retry: { attempts: 10, every: seconds(15) },
  limit: longestWait + minutes(30),
  waitsFor: 'the object etcd/cluster',
  explain: ({ cluster, bootstrap }) =>
    bootstrap.etcdOverride === 'always'
      ? 'set by bootstrap.etcdOverride'
      : `OpenShift ${cluster.openshiftVersion} needs the override`,
  run: async ({ kube, until, signal }) => {
    const etcds = followedOne(kube, etcdCluster);
    const found = await until('etcd/cluster exists', () => pollEtcd(etcds), {
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
      throw etcdFailure(
        'cluster.etcd-not-overridden',
        'etcd/cluster has no override after it was patched',
        { context: { object: 'etcd/cluster' } },
      );
    }
    return EtcdOverride.schema.parse({ isSet: true, before });
  },
});

function pollEtcd(etcds: Followed): Promise<PollResult<KubeObject>> {
  const view = etcds.view();
  const [etcd] = view.objects;
  if (etcd !== undefined) return Promise.resolve({ done: etcd });
  return Promise.resolve({ status: gapIn(view) ?? 'there is no etcd/cluster yet' });
}

/**
 * Restores what the annotation on etcd/cluster records, once the cluster can do without the override.
 * Without an annotation there is nothing to do.
 */
export const restoreEtcd = step({
  id: 'cluster/restore-etcd',
  title: 'Restore the etcd settings',
  uses: ['kube'],
  // The API server is unavailable for a while whenever etcd gains or loses a member.
  retry: { attempts: 10, every: seconds(15) },
  limit: longestWait + minutes(30),
  waitsFor: 'three healthy etcd members, if the etcd settings were changed',
  run: async (scope) => {
    const { kube, signal, note } = scope;
    const found = await kube.get(etcdCluster, signal);
    if (found === undefined || recordedBefore(found) === undefined) {
      note('info', 'the etcd settings were not changed');
      return;
    }
    await waitForThreeMembers(scope);
    const etcd = await kube.get(etcdCluster, signal);
    const record = etcd && recordedBefore(etcd);
    const patch = etcd && restorePatch(etcd);
    // Somebody else has restored it during the wait.
    if (record === undefined || patch === undefined) return;
    await kube.patch(etcdCluster, patch, signal);
    const after = await kube.get(etcdCluster, signal);
    if (after === undefined || !isRestored(after, record.before)) {
      throw etcdFailure(
        'cluster.etcd-not-restored',
        'etcd/cluster still has the override after it was patched',
        { context: { object: 'etcd/cluster' } },
      );
    }
    note('info', 'restored the etcd settings');
  },
});
