import { jobs, machineOSBuilds, machineOSConfigs } from '../../kube/kinds.ts';
import { countAt } from '../../kube/object.ts';
import {
  buildKeys,
  handedOverStatus,
  type MachineOSBuildObject,
} from '../../layering/api/os-build.ts';
import { layeringFailure } from '../../layering/failures.ts';
import {
  annotationPatch,
  asksTheSame,
  buildProblem,
  finishedStatus,
  isFinishedBuild,
  osConfigRequest,
  ownershipPatch,
} from '../../layering/hand-over/hand-over.ts';
import { jobOf } from '../../layering/hand-over/invariants.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import type { Fields } from '../../lib/fields.ts';
import { isContained } from '../../lib/json.ts';
import { seconds } from '../../model/duration.ts';
import { isConflict } from '../../ports/kube-failures.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';

type BuildScope = StepScope<'kube' | 'clock'>;

/**
 * Time in which the builder starts a job for an object that it received: its queue holds an object
 * for five seconds. The builder of 4.20 and older knows no image that was built before.
 */
const jobComesWithin = seconds(12);

/**
 * Creates the completed MachineOSBuild. It has its labels from the create request on: the builder
 * acts on the first version of an object, and a later label is too late. A build that the builder
 * created meanwhile is adopted, and its job is removed; the label comes last then, so that the next
 * attempt completes an interrupted attempt.
 * @throws AgentError `layering.build-in-the-way`, `layering.not-kept`, `kube.*`
 */
export async function putBuild(
  scope: BuildScope,
  wanted: MachineOSBuildObject,
  image: string,
): Promise<void> {
  const { clock, kube, signal, note } = scope;
  const ref = buildRef(wanted);
  const found = await createUnlessThere(scope, ref, wanted as unknown as KubeObject);
  const problem = buildProblem(found, wanted, image);
  if (problem !== undefined) {
    throw layeringFailure('layering.build-in-the-way', `MachineOSBuild ${ref.name}: ${problem}`);
  }
  if (!isFinishedBuild(found)) {
    await keepStatus(scope, ref, found, finishedStatus(found, image, new Date(clock.now())));
  }
  const isRemoved = await removeJob(scope, ref.name);
  if (found.metadata.labels?.[buildKeys.preBuiltImage] === 'true') return;
  note('info', `MachineOSBuild ${ref.name} was created by the cluster's builder; it is taken over`);
  if (!isRemoved) {
    await clock.sleep(jobComesWithin, signal);
    await removeJob(scope, ref.name);
  }
  const { labels, annotations } = wanted.metadata;
  const body = { metadata: { labels, annotations } };
  await kube.patch(ref, { type: 'merge', body }, signal);
  await requireKept(scope, ref, body);
}

/**
 * Makes the MachineOSConfig the owner of the build, so that both are deleted together.
 * @throws AgentError `layering.not-kept`, `kube.*`
 */
export async function tieBuild(
  scope: BuildScope,
  wanted: MachineOSBuildObject,
  owner: { readonly name: string; readonly uid: string },
): Promise<void> {
  const ref = buildRef(wanted);
  const found = await requireKept(scope, ref, { spec: wanted.spec });
  const body = ownershipPatch(found, owner);
  if (body === undefined) return;
  await scope.kube.patch(ref, { type: 'merge', body }, scope.signal);
  await requireKept(scope, ref, body);
}

const buildRef = ({ metadata: { name } }: MachineOSBuildObject): KubeRef => ({
  kind: machineOSBuilds,
  name,
});

/**
 * Removes the job of a build: no controller stops a job that outlives the completed build. Its own
 * objects are deleted with it.
 * @returns whether a job existed
 */
async function removeJob({ kube, signal, note }: BuildScope, build: string): Promise<boolean> {
  const ref = { kind: jobs, name: jobOf(build), namespace: operatorNamespace };
  if ((await kube.get(ref, signal)) === undefined) return false;
  await kube.remove(ref, signal);
  note('warn', `job ${ref.name} is removed: the image of its build already exists`);
  return true;
}

/**
 * Creates the user's MachineOSConfig with its image. No controller writes the status if the builder
 * starts after the build was completed, and without it the pool waits for ever.
 * @returns the `uid` for the owner reference of its build
 * @throws AgentError `layering.os-config-differs`, `layering.not-kept`, `kube.*`
 */
export async function putOsConfig(
  scope: StepScope<'kube'>,
  osConfig: Fields,
  build: string,
  image: string,
): Promise<string> {
  const { kube, signal } = scope;
  const ref = osConfigRef(osConfig);
  const found = await submitOsConfig(scope, osConfig, build);
  const body = annotationPatch(found, build);
  if (body !== undefined) await kube.patch(ref, { type: 'merge', body }, signal);
  const generation = countAt(found, 'metadata', 'generation');
  const status = handedOverStatus({ name: build, image, generation });
  await keepStatus(scope, ref, found, status);
  // A controller that regards the annotation as stale would have removed it by now.
  const annotations = { [buildKeys.currentBuild]: build };
  const kept = await requireKept(scope, ref, { metadata: { annotations }, status });
  return kept.metadata.uid ?? '';
}

/**
 * Creates the user's MachineOSConfig, without a build unless one is given: the cluster makes one as
 * soon as it can. An existing one stays unchanged.
 * @throws AgentError `layering.os-config-differs`, `kube.*`
 */
export async function submitOsConfig(
  scope: StepScope<'kube'>,
  osConfig: Fields,
  build?: string,
): Promise<KubeObject> {
  const request = osConfigRequest(osConfig, build);
  const found = await createUnlessThere(scope, osConfigRef(osConfig), request);
  if (asksTheSame(osConfig, found)) return found;
  throw layeringFailure(
    'layering.os-config-differs',
    `MachineOSConfig ${found.metadata.name} in the cluster differs from the manifest of the installation`,
  );
}

const osConfigRef = (osConfig: Fields): KubeRef => ({
  kind: machineOSConfigs,
  name: osConfigRequest(osConfig).metadata.name,
});

/**
 * The object in the cluster: created now, or existing already, perhaps created by another client a
 * moment ago.
 * @throws AgentError `kube.*`
 */
export async function createUnlessThere(
  { kube, signal }: StepScope<'kube'>,
  ref: KubeRef,
  object: KubeObject,
): Promise<KubeObject> {
  const there = await kube.get(ref, signal);
  if (there !== undefined) return there;
  try {
    return await kube.create(ref, object, signal);
  } catch (error) {
    const made = isConflict(error) ? await kube.get(ref, signal) : undefined;
    if (made === undefined) throw error;
    return made;
  }
}

/**
 * Writes a status unless it exists, and reads it back: the API server accepts a status that it
 * drops without an error.
 * @throws AgentError `layering.not-kept`, `kube.*`
 */
async function keepStatus(
  scope: StepScope<'kube'>,
  ref: KubeRef,
  found: KubeObject,
  status: object,
): Promise<void> {
  if (isContained(status, found['status'])) return;
  const { kube, signal } = scope;
  await kube.patch(ref, { type: 'merge', subresource: 'status', body: { status } }, signal);
  await requireKept(scope, ref, { status });
}

/**
 * Reads an object back and compares it with the written one.
 * @throws AgentError `layering.not-kept`
 */
async function requireKept(
  { kube, signal }: StepScope<'kube'>,
  ref: KubeRef,
  wanted: object,
): Promise<KubeObject> {
  const found = await kube.get(ref, signal);
  if (found !== undefined && isContained(wanted, found)) return found;
  const object = `${ref.kind.plural}/${ref.name}`;
  const what = `${object} is ${found === undefined ? 'missing' : 'not as it was written'}`;
  throw layeringFailure('layering.not-kept', what, { context: { object } });
}
