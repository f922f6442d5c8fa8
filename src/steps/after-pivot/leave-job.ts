import { etcdCluster, isOverridden, recordedBefore } from '../../cluster/etcd.ts';
import type { Config } from '../../config/schema.ts';
import { all, not } from '../../engine/condition.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { LeftImage } from '../../layering/hand-over/hand-over.ts';
import { minutes } from '../../model/duration.ts';
import { buildsOsImages } from '../layering/conditions.ts';
import { step, type StepScope } from '../step.ts';
import { leavesFollowUp } from './conditions.ts';
import { afterPivotFailure } from './failures.ts';
import {
  clusterRoleManifest,
  jobManifest,
  type Manifest,
  namespaceManifest,
  ownedManifests,
} from './manifests.ts';
import { findOwnNode, listAddressesArgv } from './own-host.ts';
import { putManifest, type WhenThere } from './put-manifest.ts';
import type { PivotRecord } from './record.ts';

type LeaveScope = StepScope<'kube' | 'host' | 'inventory' | 'clock'>;

/** As `layering/leave-hand-over`, where no operating system is built. */
export const createFollowUpJob = step({
  id: 'after-pivot/leave-job',
  title: 'Create the follow-up job in the cluster',
  uses: ['kube', 'host', 'inventory', 'clock'],
  when: all(leavesFollowUp, not(buildsOsImages, 'no OS image is built')),
  limit: minutes(20),
  explain: ({ images }: Config) => `runs ${images.self}`,
  preview: () => [listAddressesArgv],
  run: async (scope) => {
    await leaveJob(scope, []);
  },
});

/**
 * Leaves a job in the cluster that approves this host's own certificate requests once it is a node,
 * that puts the settings of etcd back, and that hands images over: this host cannot, it is away by then. Unless it
 * is asked for in so many words, an installation does not end because of it.
 * @returns whether the job is there
 * @throws AgentError `after-pivot.*`, `kube.*` with `bootstrap.followUp: always`
 */
export async function leaveJob(scope: LeaveScope, images: readonly LeftImage[]): Promise<boolean> {
  try {
    await leave(scope, images);
    return true;
  } catch (error) {
    scope.signal.throwIfAborted();
    const { code, message, hint } = asAgentError(error);
    if (scope.config.bootstrap.followUp === 'always') throw error;
    scope.note('warn', `the follow-up job is not created: ${message}`, { code, hint });
    return false;
  }
}

async function leave(scope: LeaveScope, images: readonly LeftImage[]): Promise<void> {
  const { config, note } = scope;
  const image = config.images.self;
  if (image === '') throw afterPivotFailure('after-pivot.no-image', 'images.self is not set');
  const record = { ...(await recordOf(scope)), images };
  await put(scope, namespaceManifest, 'keep');
  const role = await put(scope, clusterRoleManifest(images), 'patch');
  const ownerUid = role.metadata.uid ?? '';
  for (const manifest of ownedManifests({ record, ownerUid })) await put(scope, manifest, 'patch');
  const { openshiftVersion } = config.cluster;
  // What a job runs cannot be changed; one that is there is of an earlier attempt, or in the way.
  await put(scope, jobManifest({ image, openshiftVersion }), 'compare');
  note('info', `the follow-up job waits for node ${record.node}`, {
    image,
    addresses: record.addresses.join(', '),
    isEtcdOverridden: record.isEtcdOverridden,
    pools: images.map(({ pool }) => pool).join(', '),
  });
}

const put = (
  { kube, signal }: LeaveScope,
  manifest: Manifest,
  whenThere: WhenThere,
): ReturnType<typeof putManifest> => putManifest(kube, manifest, { whenThere, signal });

async function recordOf(scope: LeaveScope): Promise<Omit<PivotRecord, 'images'>> {
  const { kube, signal, note } = scope;
  const node = await findOwnNode(scope);
  if (node === undefined) {
    throw afterPivotFailure('after-pivot.not-left', 'the name of this host is unknown', {
      hint: 'set the host name in the inventory service, or by DHCP or DNS',
    });
  }
  if (node.addresses.length === 0) {
    note(
      'warn',
      'no address of this host is known; approve its serving certificate by hand: oc adm certificate approve NAME',
    );
  }
  const etcd = await kube.get(etcdCluster, signal);
  return {
    node: node.name,
    addresses: node.addresses,
    role: 'master',
    isEtcdOverridden:
      etcd !== undefined && (isOverridden(etcd) || recordedBefore(etcd) !== undefined),
  };
}
