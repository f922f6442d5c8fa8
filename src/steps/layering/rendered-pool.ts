import { configMaps, machineConfigPools, machineConfigs } from '../../kube/kinds.ts';
import { containerLogs } from '../../cluster/mcs-log.ts';
import { isAtLeast, releaseVersion } from '../../cluster/release-version.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { buildName } from '../../layering/api/build-name.ts';
import { readMachineConfigPool, renderedNameOf } from '../../layering/api/machine-config-pool.ts';
import { type MachineConfig, readMachineConfig } from '../../layering/api/machine-config.ts';
import type { MachineOSConfig } from '../../layering/api/os-config.ts';
import {
  imagesOfMachineConfig,
  type OSImages,
  readOSImages,
} from '../../layering/api/os-images.ts';
import type { Fields } from '../../lib/fields.ts';
import { lineless } from '../../layering/api/source-object.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { isImageForBoth, renderedDifference } from '../../layering/hand-over/hand-over.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import {
  poolFile,
  controllerConfig,
  blockedControllerConfig,
  blockUnit,
  formerlyBlocked,
  isRendererLog,
  renderedFile,
  rendererFailure,
} from '../../layering/manifests/bootstrap-files.ts';
import { operatorPools } from '../../layering/manifests/check-manifests.ts';
import {
  defaultStreamIn,
  osImageIn,
  renderedNameIn,
  streamIn,
} from '../../layering/manifests/served-machine-config.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import { followedOne, longestWait, together, untilSeen } from '../cluster/kube-watch.ts';
import { bootkubeArgvs, followedBootkube } from '../cluster/wait-for-bootkube.ts';
import { buildsOsImages } from '../conditions.ts';
import { unitMonitorArgv, unitWatch } from '../host/systemd-unit.ts';
import { type StepScope, step } from '../step.ts';
import { type RenderedConfig, BuildRequest, RenderedConfigs } from './facts.ts';
import { readManifest, readManifestFiles } from './manifests.ts';
import { readTextOr } from '../host-commands.ts';

/**
 * Waits until the cluster has rendered a pool, and gives the name of its rendered MachineConfig. A
 * MachineOSConfig whose pool is not there yet is refused by the operator.
 * @throws AgentError `wait.timed-out`
 */
export function waitForPool(
  { kube, until: untilDone }: StepScope<'kube'>,
  pool: string,
): Promise<string> {
  const until = untilSeen(untilDone, followedOne(kube, { kind: machineConfigPools, name: pool }));
  return until(`MachineConfigPool ${pool} is rendered`, ([object]): PollResult<string> => {
    const rendered = renderedNameOf(object);
    const problem = object === undefined ? 'does not exist' : 'is not rendered';
    if (rendered !== '') return { done: rendered };
    return { status: `MachineConfigPool ${pool} ${problem} yet` };
  });
}

type RenderedScope = StepScope<'host' | 'kube' | 'clock'>;

/**
 * The time that a pool is given which is rendered otherwise: the first rendering of a cluster lacks
 * what is made from objects that come a little later.
 */
export const settlesWithin = minutes(5);

/** A pool that the cluster has rendered. */
export interface RenderedPool {
  readonly pool: KubeObject;
  /** Why it is not rendered as on the bootstrap host; undefined where it is. */
  readonly difference: string | undefined;
  /** Whether the image of the bootstrap host is right for it all the same. */
  readonly isImageForBoth: boolean;
}

/** When a pool that is rendered otherwise is accepted. */
export interface OtherRendering {
  /** How long it must have been so. */
  readonly settles: Millis;
  /**
   * Nodes run the image already: while it is not right for what is rendered, the wait continues.
   */
  readonly mustFit: boolean;
}

/**
 * Waits until the cluster renders the pool as the bootstrap host did, or has rendered it otherwise
 * for a while. An image that is handed over for another MachineConfig than that of its pool is
 * cleared by one controller and set by the other for ever.
 * @throws AgentError `wait.timed-out`
 */
export async function waitForRendering(
  scope: RenderedScope,
  rendered: RenderedConfig,
  { settles, mustFit }: OtherRendering,
): Promise<RenderedPool> {
  const { pool, name } = rendered;
  const { kube, clock } = scope;
  const compare = comparisonWith(scope, rendered);
  let other = { name: '', since: 0 };
  const poll = async ([object]: readonly KubeObject[]): Promise<PollResult<RenderedPool>> => {
    if (object === undefined) return { status: `MachineConfigPool ${pool} does not exist yet` };
    const found = { ...object, kind: 'MachineConfigPool' };
    const there = renderedNameOf(found);
    if (there === name)
      return { done: { pool: found, difference: undefined, isImageForBoth: true } };
    if (there === '') return { status: `MachineConfigPool ${pool} is not rendered yet` };
    if (there !== other.name) other = { name: there, since: clock.elapsed() };
    const compared = await compare(there);
    const status = `it is rendered as ${there}: ${compared?.text ?? 'the difference cannot be read now'}`;
    const isSettled = compared !== undefined && clock.elapsed() - other.since >= settles;
    if (!isSettled || (mustFit && !compared.isImageForBoth)) return { status };
    return {
      done: { pool: found, difference: status, isImageForBoth: compared.isImageForBoth },
    };
  };
  const until = untilSeen(scope.until, followedOne(kube, { kind: machineConfigPools, name: pool }));
  return until(`the cluster renders pool ${pool} as ${name}`, poll);
}

interface Comparison {
  readonly text: string;
  readonly isImageForBoth: boolean;
}

/** Compares with another rendered MachineConfig of the cluster; each is read once. */
function comparisonWith(scope: RenderedScope, rendered: RenderedConfig) {
  const known = new Map<string, Comparison>();
  return async (other: string): Promise<Comparison | undefined> => {
    const found = known.get(other) ?? (await comparisonOf(scope, rendered, other));
    if (found !== undefined) known.set(other, found);
    return found;
  };
}

async function comparisonOf(
  scope: RenderedScope,
  { file, osImage }: RenderedConfig,
  other: string,
): Promise<Comparison | undefined> {
  const { kube, signal, note } = scope;
  try {
    const cluster = await kube.get({ kind: machineConfigs, name: other }, signal);
    if (cluster === undefined) return undefined;
    const bootstrap = (await readManifest(scope, { path: file, kind: 'MachineConfig' })).value;
    const pair = { bootstrap, cluster: cluster as unknown as Fields, osImage };
    return { text: renderedDifference(pair), isImageForBoth: isImageForBoth(pair) };
  } catch (error) {
    signal.throwIfAborted();
    note('debug', `${other} cannot be compared`, { code: asAgentError(error).code });
    return undefined;
  }
}

/**
 * Since this release the images are taken from the rendered MachineConfig (machine-config-operator,
 * release-4.22).
 */
const namesImagesItself = [4, 22, 0] as const;

const imagesMap: KubeRef = {
  kind: configMaps,
  name: 'machine-config-osimageurl',
  namespace: operatorNamespace,
};

/**
 * The name that the cluster's builder would choose for the build of a pool. With any other, a pool
 * that loses its annotation is built again.
 * @param found the MachineConfigPool of the cluster
 * @throws AgentError `layering.images-unknown`, `layering.no-name`, `layering.*` of what is read,
 * `kube.*`
 */
export async function nameOfBuild(
  scope: StepScope<'kube'>,
  config: MachineOSConfig,
  found: KubeObject,
): Promise<string> {
  const pool = readMachineConfigPool(asSource(found));
  const { name } = pool.configuration;
  const rendered = await scope.kube.get({ kind: machineConfigs, name }, scope.signal);
  if (rendered === undefined) {
    throw layeringFailure('layering.images-unknown', `MachineConfig ${name} is not in the cluster`);
  }
  const machineConfig = readMachineConfig(asSource({ ...rendered, kind: 'MachineConfig' }));
  return buildName({ config, pool, images: await imagesFor(scope, machineConfig) });
}

async function imagesFor(
  { kube, signal }: StepScope<'kube'>,
  machineConfig: MachineConfig,
): Promise<OSImages> {
  const version = releaseVersion(machineConfig.releaseVersion);
  if (version === undefined || isAtLeast(version, namesImagesItself)) {
    return imagesOfMachineConfig(machineConfig);
  }
  const found = await kube.get(imagesMap, signal);
  if (found !== undefined) return readOSImages(asSource({ ...found, kind: 'ConfigMap' }));
  throw layeringFailure(
    'layering.images-unknown',
    `ConfigMap ${imagesMap.name} is not in namespace ${operatorNamespace}`,
  );
}

const asSource = (object: KubeObject): ReturnType<typeof lineless> =>
  lineless(object as unknown as Fields, `${object.kind ?? ''} ${object.metadata.name}`);

/** Waits until the temporary control plane has rendered what the images are built from. */
export const waitForRendered = step({
  id: 'layering/wait-for-rendered',
  title: 'Wait for the MachineConfigs of the pools to be rendered',
  uses: ['host', 'clock'],
  needs: { request: BuildRequest },
  gives: RenderedConfigs,
  when: buildsOsImages,
  limit: longestWait + minutes(10),
  explain: () => `waits for ${controllerConfig}, which the bootstrap controller writes last`,
  preview: () => [unitMonitorArgv([blockUnit.service]), ...bootkubeArgvs],
  run: async (scope, { request }) => {
    if (request.kind !== 'on') return [];
    await untilRendered(scope);
    return readRenderedConfigs(
      scope,
      request.pools.map(({ pool }) => pool),
    );
  },
});

type RenderingScope = StepScope<'host' | 'clock'>;

/**
 * The kubelet starts a container that failed again; what it fails with twice it fails with for
 * ever.
 */
const enoughFailures = 2;

/**
 * Waits for the file that the bootstrap controller writes last, at the place where it is then.
 * @throws AgentError `layering.not-rendered` when the controller fails, `cluster.bootkube-failed`,
 * `wait.timed-out`
 */
async function untilRendered(scope: RenderingScope): Promise<void> {
  const { host, until } = scope;
  const awaited = [blockedControllerConfig, formerlyBlocked];
  const failed = new Map<string, string>();
  const bootkube = followedBootkube(scope);
  const pollOnce = async (): Promise<PollResult<true>> => {
    for (const path of awaited)
      if ((await host.realPath(path, scope.signal)) !== undefined) return { done: true };
    const status = (await rendererStatus(scope, failed)) ?? `${awaited[0]} does not exist yet`;
    return { status: bootkube.withFailure(status) };
  };
  await until('the MachineConfigs are rendered', pollOnce, {
    watch: together(
      (changed, quiet) => host.watch([...awaited, containerLogs], changed, quiet),
      unitWatch(host, [blockUnit.service]),
      bootkube.watch,
    ),
    every: seconds(30),
    within: longestWait,
  });
}

/**
 * What the logs say of a container that failed and is started again, each remembered in `failed` by
 * the name of its log.
 */
async function rendererStatus(
  { host, signal }: RenderingScope,
  failed: Map<string, string>,
): Promise<string | undefined> {
  for (const name of (await host.list(containerLogs, signal)).filter(isRendererLog)) {
    const path = await host.realPath(`${containerLogs}/${name}`, signal);
    const log = path === undefined ? undefined : await host.readText(path, signal);
    const reason = log === undefined ? undefined : rendererFailure(log);
    if (reason !== undefined) failed.set(name, reason);
  }
  const reason = [...failed.values()].at(-1);
  if (reason === undefined) return undefined;
  if (failed.size < enoughFailures) {
    return `machine-config-controller failed and is restarted: ${reason}`;
  }
  throw layeringFailure('layering.not-rendered', `machine-config-controller failed: ${reason}`);
}

/**
 * What was rendered for some pools. The pools are written before the file that was waited for, so
 * what is missing now never comes.
 * @throws AgentError `layering.not-rendered`, and as `renderedNameIn` and `osImageIn`
 */
async function readRenderedConfigs(
  { host, signal }: RenderingScope,
  pools: readonly string[],
): Promise<RenderedConfig[]> {
  const read = (path: string): Promise<string> =>
    readTextOr({ host, signal }, path, () =>
      layeringFailure('layering.not-rendered', `${path} is missing`),
    );
  // A custom pool is one of workers, and has their stream (machine-config-operator,
  // `pkg/controller/render`).
  const inheritedStream = async (pool: string): Promise<string | undefined> => {
    if (operatorPools.includes(pool)) return undefined;
    const path = poolFile('worker');
    const text = await host.readText(path, signal);
    return text === undefined ? undefined : streamIn({ path, text });
  };
  const ofCluster = defaultStreamIn(await readManifestFiles({ host, signal }));
  const rendered: RenderedConfig[] = [];
  for (const pool of pools) {
    const poolManifest = { path: poolFile(pool), text: await read(poolFile(pool)) };
    const name = renderedNameIn(poolManifest);
    const file = renderedFile(name);
    const osImage = osImageIn({ path: file, text: await read(file) });
    const stream = streamIn(poolManifest) ?? (await inheritedStream(pool)) ?? ofCluster;
    rendered.push({ pool, name, file, osImage, ...(stream === undefined ? {} : { stream }) });
  }
  return rendered;
}
