// What others do to the cluster's objects: who approved a certificate, who let etcd run, which job is to be run.
import type { KubeObject } from '../../src/ports/kube.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { followChanges } from './changes.ts';
import type { ClusterEvent, Purpose } from './cluster-state.ts';
import { isOverridden } from './etcd.ts';
import { kinds } from './objects.ts';
import { isReady } from './layering/controllers.ts';
import { hasRole } from '../layering/objects.ts';
import { controllerNamespace, controllerReady } from './pods.ts';
import type { ClusterWork } from './site.ts';

const POLL_INTERVAL_MILLIS = 150;
const RESTART_AFTER_MILLIS = 1000;

const Job = z.object({
  metadata: z.object({ name: z.string(), uid: z.string() }),
  spec: z.object({
    template: z.object({
      spec: z.object({
        serviceAccountName: z.string().optional(),
        containers: z.array(z.object({ args: z.array(z.string()).default([]) })),
      }),
    }),
  }),
});

/** What somebody else may change. */
const observed = [
  { kind: kinds.Etcd },
  { kind: kinds.CertificateSigningRequest },
  { kind: kinds.Job, namespace: controllerNamespace },
  { kind: kinds.Event, namespace: controllerNamespace },
];

/** Watches a cluster until it is closed; jobs that run our program are run. */
export async function observe(
  work: ClusterWork,
  emit: (event: ClusterEvent) => void,
): Promise<void> {
  const reported = new Set<string>();
  const jobs = new Map<string, Promise<void>>();
  const changes = followChanges(work, observed);
  while (!work.signal.aborted) {
    try {
      markWorkers(work);
      if (work.state().isApiUp && changes.take()) await poll(work, { emit, reported, jobs });
    } catch {
      // The API may be moving; the next look tells.
      changes.keep();
    }
    await sleep(POLL_INTERVAL_MILLIS, undefined, { signal: work.signal }).catch(() => undefined);
  }
  await changes.ended;
  await Promise.all(jobs.values());
}

/** Control-plane nodes that workers wait for. */
const ENOUGH = 2;

/** What workers wait for is true as soon as the service has enough masters as Done. */
function markWorkers({ store, marks }: ClusterWork): void {
  const step = 'control-plane/wait-for-masters';
  if (marks.some((mark) => mark.step === step)) return;
  const done = store.hosts().filter(({ role, stage }) => role !== 'worker' && stage === 'Done');
  if (done.length >= ENOUGH) marks.push({ step, readyAt: Date.now() });
}

interface Seen {
  readonly emit: (event: ClusterEvent) => void;
  /** What was told already. */
  readonly reported: Set<string>;
  /** By uid. */
  readonly jobs: Map<string, Promise<void>>;
}

async function poll(work: ClusterWork, { emit, reported, jobs }: Seen): Promise<void> {
  const { client } = work.kube;
  const etcd = await client.get({ kind: kinds.Etcd, name: 'cluster' });
  const requests = await client.list({ kind: kinds.CertificateSigningRequest });
  const ready = await client.get({
    ...{ kind: kinds.Event, namespace: controllerNamespace, name: controllerReady },
  });
  const isReadyNow = ready === undefined ? [] : [readyController];
  for (const { name, event } of [
    ...overrideIn(etcd),
    ...isReadyNow,
    ...requests.flatMap(approvalIn),
  ]) {
    if (!reported.has(name)) emit(event);
    reported.add(name);
  }
  if (!work.state().isBootkubeDone) return;
  const found = await client.list({ kind: kinds.Job, namespace: controllerNamespace });
  for (const { data: job } of found.map((object) => Job.safeParse(object))) {
    const isOurs = job?.spec.template.spec.containers[0]?.args[0] === 'after-pivot';
    if (job === undefined || !isOurs || jobs.has(job.metadata.uid)) continue;
    work.jobs.add(job.metadata.uid);
    jobs.set(
      job.metadata.uid,
      runJob(work, job)
        .catch((error: unknown) => {
          work.complain(`job ${job.metadata.name}: ${error instanceof Error ? error.message : ''}`);
        })
        .finally(() => work.jobs.delete(job.metadata.uid)),
    );
  }
}

interface Observed {
  /** The same thing has the same name. */
  readonly name: string;
  readonly event: ClusterEvent;
}

const readyController: Observed = {
  name: controllerReady,
  event: { kind: 'controller-ready' },
};

interface Condition {
  readonly type: string;
}

function conditionsOf(object: KubeObject): readonly Condition[] {
  const { status } = object as { readonly status?: { readonly conditions?: readonly Condition[] } };
  return status?.conditions ?? [];
}

const overrideIn = (etcd: KubeObject | undefined): readonly Observed[] =>
  isOverridden(etcd) ? [{ name: 'override', event: { kind: 'override-seen', isSet: true } }] : [];

function approvalIn(request: KubeObject): readonly Observed[] {
  const { name } = request.metadata;
  const isApproved = conditionsOf(request).some(({ type }) => type === 'Approved');
  const [, purpose, host] = /^csr-(client|serving)-(.*)$/.exec(name) ?? [];
  if (!isApproved || host === undefined) return [];
  return [{ name, event: { kind: 'request-approved', host, purpose: purpose as Purpose } }];
}

/** A pod of a job is started again until it succeeds, on another node where its own was emptied. */
async function runJob(work: ClusterWork, { metadata, spec }: z.infer<typeof Job>): Promise<void> {
  const { serviceAccountName = 'default', containers } = spec.template.spec;
  const kubeconfig = await work.kube.kubeconfigFor({
    user: { namespace: controllerNamespace, serviceAccount: serviceAccountName },
  });
  const { signal } = work;
  while (!signal.aborted) {
    const leaving = new AbortController();
    const moveOut = await moveIn(work, () => {
      leaving.abort(new Error('its node is emptied'));
    });
    const { ended } = await work.startJob({
      ...{ name: 'after-pivot', podId: metadata.uid, args: containers[0]?.args ?? [], env: {} },
      kubeconfig,
      signal: AbortSignal.any([signal, leaving.signal]),
    });
    const exitCode = await ended;
    moveOut();
    if (exitCode === 0) return;
    await sleep(RESTART_AFTER_MILLIS, undefined, { signal }).catch(() => undefined);
  }
}

/** A pod comes to a master that takes any; gives what takes it out again. */
async function moveIn(work: ClusterWork, leave: () => void): Promise<() => void> {
  const nodes = await work.kube.client.list({ kind: kinds.Node }).catch(() => []);
  const open = nodes.find((node) => hasRole(node, 'master') && isReady(node));
  return open === undefined ? () => undefined : work.tenants.moveIn(open.metadata.name, leave);
}
