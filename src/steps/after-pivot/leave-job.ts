import { etcdCluster, isOverridden, recordedBefore } from '../../cluster/etcd.ts';
import type { Config } from '../../config/schema.ts';
import { all, not } from '../../engine/condition.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { LeftImage } from '../../layering/hand-over/hand-over.ts';
import type { PollResult } from '../../engine/wait.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import { buildsOsImages } from '../layering/conditions.ts';
import { step, type StepScope } from '../step.ts';
import { isLeftToController, leavesFollowUp, whoFollows } from './conditions.ts';
import { afterPivotFailure } from './failures.ts';
import {
  clusterRoleManifest,
  jobManifest,
  type Manifest,
  namespaceManifest,
  ownedManifests,
  recordManifest,
} from './manifests.ts';
import { findOwnNode, listAddressesArgv } from './own-host.ts';
import { putManifest, type WhenThere } from './put-manifest.ts';
import type { PivotRecord } from './record.ts';

type LeaveScope = StepScope<'kube' | 'host' | 'inventory' | 'clock'>;

/** As `layering/leave-hand-over`, where no operating system is built. */
export const createFollowUpJob = step({
  id: 'after-pivot/leave-job',
  title: 'Leave a record of this host in the cluster',
  uses: ['kube', 'host', 'inventory', 'clock'],
  when: all(leavesFollowUp, not(buildsOsImages, 'no OS image is built')),
  limit: minutes(40),
  waitsFor:
    'the API server to take the record, at most 15 minutes; the installation goes on without it',
  explain: (config: Config) =>
    isLeftToController(config)
      ? 'for the controller, which is this program'
      : `for a follow-up job, which runs ${config.images.self}`,
  preview: () => [listAddressesArgv],
  run: async (scope) => {
    await leaveJob(scope, []);
  },
});

/** The API server goes away for a while whenever etcd gets or loses a member, as in a hand-over. */
const longestTry = minutes(15);
const tryAgainEvery = seconds(15);

/**
 * Leaves a record of what this host cannot do, as it is away by then: to approve its own certificate requests, to put
 * the settings of etcd back, and to hand images over. Our own controller reads it; where there is none, a job is left
 * too. Unless it is asked for in so many words, an installation does not end because of it.
 * @returns whether it is there
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
    scope.note('warn', `nothing is left for ${whoFollows(scope.config)}: ${message}`, {
      code,
      hint,
    });
    return false;
  }
}

async function leave(scope: LeaveScope, images: readonly LeftImage[]): Promise<void> {
  const image = scope.config.images.self;
  if (image === '') throw afterPivotFailure('after-pivot.no-image', 'images.self is not set');
  const node = await ownNode(scope);
  await scope.until(
    'the record of this host is in the cluster',
    async (): Promise<PollResult<true>> => {
      try {
        await putJob(scope, { image, images, record: { ...node, images } });
        return { done: true };
      } catch (error) {
        scope.signal.throwIfAborted();
        const failure = asAgentError(error);
        if (!mayPass(failure)) throw failure;
        return { status: `the record of this host is not in the cluster yet (${failure.code})` };
      }
    },
    { every: tryAgainEvery, within: longestTry },
  );
  scope.note('info', `${whoFollows(scope.config)} waits for node ${node.node}`, {
    image,
    addresses: node.addresses.join(', '),
    pools: images.map(({ pool }) => pool).join(', '),
  });
}

/** An object that is refused for what it says (422) would be refused again. */
const mayPass = ({ kind, context }: AgentError): boolean =>
  kind === 'remote' && context['status'] !== 422;

interface JobParts {
  readonly image: string;
  readonly images: readonly LeftImage[];
  readonly record: Omit<PivotRecord, 'isEtcdOverridden'>;
}

/** @throws AgentError `after-pivot.not-left`, `kube.*` */
async function putJob(scope: LeaveScope, { image, images, record }: JobParts): Promise<void> {
  const etcd = await scope.kube.get(etcdCluster, scope.signal);
  const isEtcdOverridden =
    etcd !== undefined && (isOverridden(etcd) || recordedBefore(etcd) !== undefined);
  await put(scope, namespaceManifest, 'keep');
  if (isLeftToController(scope.config)) {
    await put(scope, recordManifest({ ...record, isEtcdOverridden }), 'patch');
    return;
  }
  const role = await put(scope, clusterRoleManifest(images), 'patch');
  const ownerUid = role.metadata.uid ?? '';
  const owned = ownedManifests({ record: { ...record, isEtcdOverridden }, ownerUid });
  for (const manifest of owned) await put(scope, manifest, 'patch');
  const { openshiftVersion } = scope.config.cluster;
  // What a job runs cannot be changed; one that is there is of an earlier attempt, or in the way.
  await put(scope, jobManifest({ image, openshiftVersion }), 'compare');
}

const put = (
  { kube, signal }: LeaveScope,
  manifest: Manifest,
  whenThere: WhenThere,
): ReturnType<typeof putManifest> => putManifest(kube, manifest, { whenThere, signal });

async function ownNode(scope: LeaveScope): Promise<Omit<JobParts['record'], 'images'>> {
  const node = await findOwnNode(scope);
  if (node === undefined) {
    throw afterPivotFailure('after-pivot.not-left', 'the name of this host is unknown', {
      hint: 'set the host name in the inventory service, or by DHCP or DNS',
    });
  }
  if (node.addresses.length === 0) {
    scope.note(
      'warn',
      'no address of this host is known; approve its serving certificate by hand: oc adm certificate approve NAME',
    );
  }
  return { node: node.name, addresses: node.addresses, role: 'master' };
}
