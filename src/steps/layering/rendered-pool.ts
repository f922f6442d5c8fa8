import { isAtLeast, releaseVersion } from '../../cluster/release.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { configMaps, machineConfigPools, machineConfigs } from '../../kube/kinds.ts';
import { buildName, imagesOfMachineConfig, readOSImages } from '../../layering/api/build-name.ts';
import { readMachineConfig } from '../../layering/api/machine-config.ts';
import { readMachineConfigPool, renderedNameOf } from '../../layering/api/machine-config-pool.ts';
import type { MachineOSConfig } from '../../layering/api/os-config.ts';
import { lineless, type SourceObject } from '../../layering/api/source-object.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { compareRendered } from '../../layering/hand-over/hand-over.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import type { Fields } from '../../lib/fields.ts';
import type { Millis } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { followedOne, untilSeen } from '../cluster/kube-watch.ts';
import type { StepScope } from '../step.ts';
import type { RenderedPool } from './facts.ts';
import { readManifest } from './manifests.ts';

const untilPool = ({ kube, until }: StepScope<'kube'>, name: string) =>
  untilSeen(until, followedOne(kube, { kind: machineConfigPools, name }));

/**
 * Waits until the cluster has rendered a pool, and returns the name of its rendered MachineConfig.
 * The operator refuses a MachineOSConfig whose pool does not exist yet.
 * @throws AgentError `wait.timed-out`
 */
export const waitForPool = (scope: StepScope<'kube'>, pool: string): Promise<string> =>
  untilPool(scope, pool)(
    `MachineConfigPool ${pool} is rendered`,
    ([object]): PollResult<string> => {
      const rendered = renderedNameOf(object);
      if (rendered !== '') return { done: rendered };
      const problem = object === undefined ? 'does not exist' : 'is not rendered';
      return { status: `MachineConfigPool ${pool} ${problem} yet` };
    },
  );

/** A pool as the cluster has rendered it. */
export interface ClusterPool {
  readonly object: KubeObject;
  /** Name of its rendered MachineConfig. */
  readonly rendered: string;
  /** The difference to the rendering on the bootstrap host; undefined if both are equal. */
  readonly difference: string | undefined;
  /** Whether the image of the bootstrap host fits it nevertheless. */
  readonly isImageForBoth: boolean;
}

/**
 * Waits until the cluster renders the pool as the bootstrap host did, or until another rendering
 * has lasted for a while. If an image is handed over for another MachineConfig than that of its
 * pool, one controller removes it and another sets it again, without end.
 * @param settles how long another rendering must last to be accepted
 * @param mustFit nodes run the image already: the wait continues while it does not fit the rendered
 * MachineConfig
 * @throws AgentError `wait.timed-out`
 */
export function waitForRendering(
  scope: StepScope<'host' | 'kube' | 'clock'>,
  pool: RenderedPool,
  settles: Millis,
  mustFit: boolean,
): Promise<ClusterPool> {
  const { clock } = scope;
  const compared = new Map<string, ReturnType<typeof compareRendered>>();
  let other = { name: '', since: 0 };
  const poll = async ([found]: readonly KubeObject[]): Promise<PollResult<ClusterPool>> => {
    const name = `MachineConfigPool ${pool.pool}`;
    if (found === undefined) return { status: `${name} does not exist yet` };
    const object = { ...found, kind: 'MachineConfigPool' };
    const rendered = renderedNameOf(object);
    if (rendered === '') return { status: `${name} is not rendered yet` };
    if (rendered === pool.rendered)
      return { done: { object, rendered, difference: undefined, isImageForBoth: true } };
    if (rendered !== other.name) other = { name: rendered, since: clock.elapsed() };
    const comparison = compared.get(rendered) ?? (await compare(scope, pool, rendered));
    if (comparison === undefined)
      return { status: `it is rendered as ${rendered}: the difference cannot be read now` };
    compared.set(rendered, comparison);
    const difference = `it is rendered as ${rendered}: ${comparison.difference}`;
    const isSettled = clock.elapsed() - other.since >= settles;
    if (!isSettled || (mustFit && !comparison.isImageForBoth)) return { status: difference };
    return {
      done: { object, rendered, difference, isImageForBoth: comparison.isImageForBoth },
    };
  };
  return untilPool(scope, pool.pool)(
    `the cluster renders pool ${pool.pool} as ${pool.rendered}`,
    poll,
  );
}

/** Compares with another rendered MachineConfig; undefined if it cannot be read now. */
async function compare(
  scope: StepScope<'host' | 'kube'>,
  { file, osImage }: RenderedPool,
  other: string,
): Promise<ReturnType<typeof compareRendered> | undefined> {
  const { kube, signal, note } = scope;
  try {
    const cluster = await kube.get({ kind: machineConfigs, name: other }, signal);
    if (cluster === undefined) return undefined;
    const bootstrap = (await readManifest(scope, file, 'MachineConfig')).value;
    return compareRendered(bootstrap, osImage, cluster as unknown as Fields);
  } catch (error) {
    signal.throwIfAborted();
    note('debug', `${other} cannot be compared`, { code: asAgentError(error).code });
    return undefined;
  }
}

/**
 * The name that the cluster's builder would choose for the build of a pool. With any other name, a
 * pool that loses its annotation is built again. Since 4.22 the builder takes the images from the
 * rendered MachineConfig; before, from a ConfigMap (machine-config-operator, release-4.22).
 * @throws AgentError `layering.images-unknown`, `layering.no-name`, `layering.*` of the objects
 * that it reads, `kube.*`
 */
export async function nameOfBuild(
  { kube, signal }: StepScope<'kube'>,
  config: MachineOSConfig,
  { object, rendered: name }: ClusterPool,
): Promise<string> {
  const found = await kube.get({ kind: machineConfigs, name }, signal);
  if (found === undefined) {
    throw layeringFailure('layering.images-unknown', `MachineConfig ${name} is not in the cluster`);
  }
  const machineConfig = readMachineConfig(asSource(found, 'MachineConfig'));
  const pool = readMachineConfigPool(asSource(object, 'MachineConfigPool'));
  const version = releaseVersion(machineConfig.releaseVersion);
  if (version === undefined || isAtLeast(version, [4, 22, 0]))
    return buildName({ config, pool, images: imagesOfMachineConfig(machineConfig) });
  const ref = { name: 'machine-config-osimageurl', namespace: operatorNamespace };
  const map = await kube.get({ kind: configMaps, ...ref }, signal);
  if (map === undefined) {
    const what = `ConfigMap ${ref.name} is not in namespace ${ref.namespace}`;
    throw layeringFailure('layering.images-unknown', what);
  }
  return buildName({ config, pool, images: readOSImages(map as unknown as Fields) });
}

/** The API server omits the kind in the items of a list. */
const asSource = (object: KubeObject, kind: string): SourceObject =>
  lineless({ ...(object as unknown as Fields), kind }, `${kind} ${object.metadata.name}`);
