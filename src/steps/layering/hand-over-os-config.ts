import { machineOSConfigs } from '../../cluster/kinds.ts';
import { countAt } from '../../layering/api/cluster-object.ts';
import {
  annotationPatch,
  asksTheSame,
  osConfigRequest,
} from '../../layering/hand-over/hand-over.ts';
import { buildKeys, handedOverStatus } from '../../layering/api/os-build.ts';
import type { SourceObject } from '../../layering/source-object.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';
import { handOverFailure } from './hand-over-failures.ts';
import { createUnlessThere, keepStatus, requireKept } from './hand-over-objects.ts';

/** A MachineOSConfig with the build and the image that are its own from the start. */
export interface OsConfigOrder {
  readonly source: SourceObject;
  readonly build: string;
  readonly image: string;
}

/**
 * Puts the user's MachineOSConfig there with its image. Nobody else writes the status when the builder starts after
 * the build was finished, and without it the pool waits for ever.
 * @returns the `uid` by which its build belongs to it
 * @throws AgentError `layering.os-config-differs`, `layering.not-kept`, `kube.*`
 */
export async function putOsConfig(
  scope: StepScope<'kube'>,
  { source, build, image }: OsConfigOrder,
): Promise<string> {
  const { kube, signal } = scope;
  const ref = refOf(source);
  const found = await findOrMake(scope, source, build);
  const body = annotationPatch(found, build);
  if (body !== undefined) await kube.patch(ref, { type: 'merge', body }, signal);
  const generation = countAt(found, 'metadata', 'generation');
  const status = handedOverStatus({ name: build, image, generation });
  await keepStatus(scope, ref, { found, status });
  // A controller that takes the annotation for stale would have removed it by now.
  const annotations = { [buildKeys.currentBuild]: build };
  const kept = await requireKept(scope, ref, { metadata: { annotations }, status });
  return kept.metadata.uid ?? '';
}

/**
 * Puts the user's MachineOSConfig there without a build: the cluster makes one as soon as it can. One that is there
 * stays as it is.
 * @throws AgentError `layering.os-config-differs`, `kube.*`
 */
export async function submitOsConfig(
  scope: StepScope<'kube'>,
  source: SourceObject,
): Promise<void> {
  await findOrMake(scope, source);
}

function requireSame(source: SourceObject, found: KubeObject): void {
  if (asksTheSame(source.value, found)) return;
  throw handOverFailure(
    'layering.os-config-differs',
    `MachineOSConfig ${found.metadata.name} of the cluster has another spec than ${source.place(['spec'])}`,
  );
}

async function findOrMake(
  scope: StepScope<'kube'>,
  source: SourceObject,
  build?: string,
): Promise<KubeObject> {
  const ref = refOf(source);
  const found = await createUnlessThere(scope, ref, osConfigRequest(source.value, build));
  requireSame(source, found);
  return found;
}

const refOf = ({ value }: SourceObject): KubeRef => ({
  kind: machineOSConfigs,
  name: osConfigRequest(value).metadata.name,
});
