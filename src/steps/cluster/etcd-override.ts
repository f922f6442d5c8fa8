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
import { all, condition } from '../../engine/condition.ts';
import type { PollResult } from '../../engine/wait.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { givenVersion, leavesRecord } from '../conditions.ts';
import { step, type StepScope } from '../step.ts';
import { bootkubeArgvs, followedBootkube } from './wait-for-bootkube.ts';
import { clusterFailure } from './failures.ts';
import { followedOne, longestWait, combineWatches } from './kube-watch.ts';
import { gapIn } from '../../ports/kube-failures.ts';

const needsEtcdOverride = condition<Config>(
  'etcd of this release must be allowed to start with fewer than three members',
  (config) => needsOverride(givenVersion(config), config.bootstrap.etcdOverride),
  (config) => {
    if (config.bootstrap.etcdOverride === 'never') return 'bootstrap.etcdOverride is never';
    return givenVersion(config) === undefined ? 'its version is not given' : 'it is 4.7 or later';
  },
);

/**
 * Allows etcd of old releases to start with fewer than three members. An annotation of the object
 * records the previous value, so that the controller can restore it after this host has left. The
 * patch follows the wait for two masters: with the flag the operator removes the bootstrap member
 * as soon as one other member exists (cluster-etcd-operator 4.6, `canRemoveEtcdBootstrap`). If no
 * controller would restore the value, the step changes nothing; an earlier check refuses that
 * installation.
 */
export const patchEtcd = step({
  id: 'cluster/patch-etcd',
  title: 'Allow etcd to start with fewer than three members',
  uses: ['kube', 'host', 'clock'],
  needs: { controlPlane: ControlPlane },
  when: all(needsEtcdOverride, leavesRecord),
  limit: longestWait + minutes(30),
  preview: () => bootkubeArgvs,
  explain: ({ cluster, bootstrap }) =>
    bootstrap.etcdOverride === 'always'
      ? 'set by bootstrap.etcdOverride; waits for the object etcd/cluster'
      : `OpenShift ${cluster.openshiftVersion} needs the override; waits for the object etcd/cluster`,
  run: async (scope) => {
    const etcds = followedOne(scope.kube, etcdCluster);
    const bootkube = followedBootkube(scope);
    const poll = async (): Promise<PollResult<true>> => {
      const view = etcds.view();
      const [etcd] = view.objects;
      if (etcd !== undefined) return override(scope, etcd);
      return { status: bootkube.withFailure(gapIn(view) ?? 'there is no etcd/cluster yet') };
    };
    await scope.until('etcd/cluster has the override', poll, {
      watch: combineWatches(etcds.watch, bootkube.watch),
      every: seconds(15),
      within: longestWait,
    });
  },
});

/**
 * The API server is unavailable for a while whenever etcd adds or removes a member.
 * @throws AgentError `cluster.etcd-not-overridden`
 */
async function override(
  { kube, signal }: StepScope<'kube'>,
  found: KubeObject,
): Promise<PollResult<true>> {
  const record = recordedBefore(found);
  const before = record === undefined ? overridesOf(found) : record.before;
  let kept: KubeObject | undefined;
  try {
    if (record === undefined || !isOverridden(found))
      await kube.patch(etcdCluster, overridePatch(before), signal);
    kept = await kube.get(etcdCluster, signal);
  } catch (error) {
    signal.throwIfAborted();
    const { code } = asAgentError(error);
    if (!code.startsWith('kube.')) throw error;
    return { status: `etcd/cluster cannot be changed yet (${code})` };
  }
  if (kept !== undefined && isOverridden(kept) && recordedBefore(kept) !== undefined)
    return { done: true };
  const what = 'etcd/cluster has no override after it was patched';
  throw clusterFailure('cluster.etcd-not-overridden', what, {
    context: { object: 'etcd/cluster' },
  });
}

const notRestored = (message: string): Error =>
  clusterFailure('cluster.etcd-not-restored', message, { context: { object: 'etcd/cluster' } });

/**
 * Restores the value that the annotation on etcd/cluster records, even if another client has
 * restored it already.
 * @throws AgentError `cluster.etcd-not-restored`, `kube.*`
 */
export async function putEtcdBack({
  kube,
  signal,
  note,
}: Pick<StepScope<'kube'>, 'kube' | 'signal' | 'note'>): Promise<void> {
  const etcd = await kube.get(etcdCluster, signal);
  if (etcd === undefined) throw notRestored('there is no etcd/cluster');
  const record = recordedBefore(etcd);
  if (record === undefined) {
    if (!isOverridden(etcd)) return;
    throw notRestored('etcd/cluster has the override, and no annotation of what was there before');
  }
  await kube.patch(etcdCluster, restorePatch(etcd, record.before), signal);
  const after = await kube.get(etcdCluster, signal);
  if (after === undefined || !isRestored(after, record.before)) {
    throw notRestored('etcd/cluster still has the override after it was patched');
  }
  note('info', 'restored the etcd settings');
}
