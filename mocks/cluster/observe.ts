// Records changes by other programs to the cluster's objects: approved certificates, the override
// of etcd.
import type { KubeObject } from '../../src/ports/kube.ts';
import { followChanges, pollUntilClosed } from './changes.ts';
import type { ClusterEvent, Purpose } from './cluster-state.ts';
import { conditionIn } from '../layering/objects.ts';
import { isOverridden } from './etcd.ts';
import { runGathering } from './controller-pod.ts';
import { kinds } from './objects.ts';
import { controllerNamespace, controllerReady } from './pods.ts';
import type { ClusterWork } from './site.ts';

const POLL_INTERVAL_MILLIS = 150;

/** Objects that other programs may change. */
const observed = [
  { kind: kinds.Etcd },
  { kind: kinds.CertificateSigningRequest },
  { kind: kinds.Event, namespace: controllerNamespace },
  { kind: kinds.Pod, namespace: controllerNamespace },
];

/** Watches a cluster until it is closed. */
export async function observe(
  work: ClusterWork,
  emit: (event: ClusterEvent) => void,
): Promise<void> {
  const reported = new Set<string>();
  const changes = followChanges(work, observed);
  await pollUntilClosed(work.signal, { changes, everyMillis: POLL_INTERVAL_MILLIS }, async () => {
    if (work.state().isApiUp && changes.take()) await poll(work, { emit, reported });
  });
}

interface Seen {
  readonly emit: (event: ClusterEvent) => void;
  /** Changes that were reported already. */
  readonly reported: Set<string>;
}

async function poll(work: ClusterWork, { emit, reported }: Seen): Promise<void> {
  const { client } = work.kube;
  await runGathering(work);
  const etcd = await client.get({ kind: kinds.Etcd, name: 'cluster' });
  const requests = await client.list({ kind: kinds.CertificateSigningRequest });
  const ready = await client.get({
    kind: kinds.Event,
    namespace: controllerNamespace,
    name: controllerReady,
  });
  const seen: readonly Observed[] = [
    ...(isOverridden(etcd)
      ? [{ name: 'override', event: { kind: 'override-seen' } } as const]
      : []),
    ...(ready === undefined
      ? []
      : [{ name: controllerReady, event: { kind: 'controller-ready' } } as const]),
    ...requests.flatMap(approvalIn),
  ];
  for (const { name, event } of seen) {
    if (!reported.has(name)) emit(event);
    reported.add(name);
  }
}

interface Observed {
  /** The same change has the same name. */
  readonly name: string;
  readonly event: ClusterEvent;
}

function approvalIn(request: KubeObject): readonly Observed[] {
  const { name } = request.metadata;
  const isApproved = conditionIn(request, 'Approved') !== '';
  const [, purpose, host] = /^csr-(client|serving)-(.*)$/.exec(name) ?? [];
  if (!isApproved || host === undefined) return [];
  return [{ name, event: { kind: 'request-approved', host, purpose: purpose as Purpose } }];
}
