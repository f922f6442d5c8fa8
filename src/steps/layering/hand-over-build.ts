import { jobs, machineOSBuilds } from '../../cluster/kinds.ts';
import { AgentError } from '../../model/failure.ts';
import type { Look } from '../../engine/wait.ts';
import { finishedStatus, ownershipPatch, standingOf } from '../../layering/hand-over/hand-over.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import { jobOf } from '../../layering/hand-over/invariants.ts';
import type { MachineOSBuildObject } from '../../layering/api/os-build.ts';
import { seconds } from '../../model/duration.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import { followedOne, gapIn } from '../cluster/kube-watch.ts';
import type { StepScope } from '../step.ts';
import { handOverFailure } from './hand-over-failures.ts';
import { createUnlessThere, keepStatus, requireKept } from './hand-over-objects.ts';

type BuildScope = StepScope<'kube' | 'clock'>;

/** A build to be handed over, and the image it is to stand for. */
export interface BuildOrder {
  readonly wanted: MachineOSBuildObject;
  readonly image: string;
}

/** How long the builder may take to start a job for what it saw: its queue holds an object for five seconds. */
const jobComesWithin = seconds(12);

/**
 * Puts the MachineOSBuild there, finished. It has its labels from the create request on: the builder acts on an
 * object as it was when it came, and a label that follows is too late. One that the builder made meanwhile is
 * taken over, and the job that it started is removed; the label comes last then, so that an attempt that is cut
 * off is taken up again.
 * @throws AgentError `layering.build-in-the-way`, `layering.not-kept`, `kube.*`
 */
export async function putBuild(scope: BuildScope, { wanted, image }: BuildOrder): Promise<void> {
  const { clock, kube, signal, note } = scope;
  const ref = refOf(wanted);
  const request = wanted as unknown as KubeObject;
  const found = await createUnlessThere(scope, ref, request);
  const standing = standingUnlessInTheWay(found, { wanted, image });
  if (!standing.isFinished) {
    const status = finishedStatus(found, { image, at: new Date(clock.now()) });
    await keepStatus(scope, ref, { found, status });
  }
  if (standing.kind === 'ours') {
    await removeJob(scope, ref.name);
    return;
  }
  note('info', `MachineOSBuild ${ref.name} was made by the cluster's builder; it is taken over`);
  await waitForJob(scope, ref.name);
  await removeJob(scope, ref.name);
  const { labels, annotations } = wanted.metadata;
  const body = { metadata: { labels, annotations } };
  await kube.patch(ref, { type: 'merge', body }, signal);
  await requireKept(scope, ref, body);
}

function standingUnlessInTheWay(found: KubeObject, order: BuildOrder) {
  const standing = standingOf(found, order);
  if (standing.kind !== 'in-the-way') return standing;
  const { name } = order.wanted.metadata;
  throw handOverFailure('layering.build-in-the-way', `MachineOSBuild ${name}: ${standing.why}`);
}

/**
 * Ties the build to its MachineOSConfig, so that it goes with that.
 * @throws AgentError `layering.not-kept`, `kube.*`
 */
export async function tieBuild(
  scope: BuildScope,
  wanted: MachineOSBuildObject,
  owner: { readonly name: string; readonly uid: string },
): Promise<void> {
  const ref = refOf(wanted);
  const found = await requireKept(scope, ref, { spec: wanted.spec });
  const body = ownershipPatch(found, owner);
  if (body === undefined) return;
  await scope.kube.patch(ref, { type: 'merge', body }, scope.signal);
  await requireKept(scope, ref, body);
}

const refOf = ({ metadata: { name } }: MachineOSBuildObject): KubeRef => ({
  kind: machineOSBuilds,
  name,
});

/** Waits until the job of a build shows, or the builder has had its time. */
async function waitForJob(scope: BuildScope, build: string): Promise<void> {
  const name = jobOf(build);
  const job = { kind: jobs, namespace: operatorNamespace, name };
  const followedJobs = followedOne(scope.kube, job);
  const look = (): Promise<Look<true>> => {
    const view = followedJobs.view();
    if (view.objects.length > 0) return Promise.resolve({ done: true });
    return Promise.resolve({ status: gapIn(view) ?? 'the builder has started no job' });
  };
  try {
    await scope.until(`job ${name} is there, if the builder starts it by mistake`, look, {
      watch: followedJobs.watch,
      within: jobComesWithin,
    });
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== 'wait.timed-out') throw error;
  }
}

/** A job that outlives the finished build is stopped by nobody; its own objects go with it. */
async function removeJob({ kube, signal, note }: BuildScope, build: string): Promise<void> {
  const ref = { kind: jobs, name: jobOf(build), namespace: operatorNamespace };
  if ((await kube.get(ref, signal)) === undefined) return;
  await kube.remove(ref, signal);
  note('warn', `job ${ref.name} is removed: the image of its build is there already`);
}
