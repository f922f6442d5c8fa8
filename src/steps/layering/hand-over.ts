import { asAgentError } from '../../engine/failures.ts';
import type { NeedValues } from '../../engine/fact.ts';
import { limited } from '../../engine/limit.ts';
import { secrets } from '../../kube/kinds.ts';
import { machineOSBuildObject } from '../../layering/api/os-build.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import { minutes, renderDuration, seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { longestWait } from '../cluster/kube-watch.ts';
import { buildsOsImages } from '../conditions.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { isEarlyPool, whyRelease } from './conditions.ts';
import { BuildRequest, type PoolRequest, type PublishedPool, PublishedPools } from './facts.ts';
import {
  createUnlessThere,
  putBuild,
  putOsConfig,
  submitOsConfig,
  tieBuild,
} from './hand-over-objects.ts';
import { readManifest } from './manifests.ts';
import { type HeldPools, pausePools, reportLostImages, unpausePool } from './pool-pause.ts';
import { tagImage } from './publish-images.ts';
import { nameOfBuild, waitForPool, waitForRendering } from './rendered-pool.ts';

/** The properties that the steps of a hand-over share. */
const handingOver = {
  when: buildsOsImages,
  // The API server goes away for a while whenever etcd gets or loses a member.
  retry: { attempts: 10, every: seconds(15) },
  limit: longestWait + minutes(30),
} as const;

/**
 * Hands over the images that were built for the pools, in the objects that the cluster's own
 * controllers keep. These take an image on a node for a mistake as soon as a pool is rendered that
 * nobody layered: each pool is paused until its image is handed over. Masters, who are there first,
 * come first.
 */
export const handOverServed = step({
  ...handingOver,
  id: 'layering/hand-over',
  title: 'Hand the built OS images over to the cluster',
  uses: ['host', 'kube', 'clock'],
  needs: { published: PublishedPools },
  skipIf: ({ published }) => whyRelease(published),
  explain: () => 'waits for the cluster to render each MachineConfigPool as this host did',
  preview: () => callsOf('skopeo'),
  run: async (scope, { published }) => {
    if (published.kind === 'release') return;
    const { pools } = published;
    const held: HeldPools = new Map();
    await pausePools(
      scope,
      pools.map(({ pool }) => pool),
      held,
    );
    await reportLostImages(scope, pools);
    for (const pool of pools) {
      await handOverPool(scope, pool);
      await unpausePool(scope, pool.pool, held);
    }
  },
});

const submitNeeds = { request: BuildRequest, published: PublishedPools } as const;

/** Why no MachineOSConfig is to be submitted last; undefined where some are. */
function unlessSubmitted({ request, published }: NeedValues<typeof submitNeeds>) {
  if (request.kind === 'off') return request.why;
  const isHandedOver = request.kind === 'on' && published.kind === 'pools';
  return isHandedOver ? 'the OS images are handed over' : undefined;
}

/**
 * Submits the MachineOSConfigs where no image could be built, as late as this host can: the cluster
 * builds by itself, and rolls an image out by draining masters. There are two of them until this
 * host is the third.
 */
export const submitOsConfigs = step({
  ...handingOver,
  id: 'layering/submit-os-configs',
  title: 'Submit the MachineOSConfigs whose images the cluster builds',
  uses: ['host', 'kube'],
  needs: submitNeeds,
  skipIf: unlessSubmitted,
  explain: () => 'waits for the cluster to render each MachineConfigPool',
  run: async (scope, { request }) => {
    if (request.kind === 'off') return;
    for (const pool of request.pools) {
      await waitForPool(scope, pool.pool);
      await putSecrets(scope, pool);
      await submitOsConfig(scope, pool.object);
      scope.note('info', `pool ${pool.pool}: the cluster builds the OS image later`);
    }
  },
});

type HandOverScope = StepScope<'host' | 'kube' | 'clock'>;

/**
 * The time that a pool is given which is rendered otherwise: the first rendering of a cluster lacks
 * what is made from objects that come a little later.
 */
const settlesWithin = minutes(5);

/**
 * Hands the image of a pool over: Secrets, tag, MachineOSBuild, its status, MachineOSConfig, its
 * status, owner. Each is there before the controllers of the cluster look for it, in an order in
 * which none of them ever sees a reason to build or to take an image away. What exists already is
 * kept, so that an attempt that was cut off at any point is taken up by the next. A pool that was
 * rendered again meanwhile is read again. Where the image does not fit what is rendered, the
 * cluster builds.
 * @throws AgentError `layering.*`, `wait.timed-out`, `kube.*`
 */
async function handOverPool(scope: HandOverScope, pool: PublishedPool): Promise<void> {
  const { pool: name, config, object, final } = pool;
  const { note } = scope;
  const isServed = isEarlyPool(name);
  let found = await waitForRendering(scope, pool, settlesWithin, isServed);
  scope.progress({ info: `Handing the image of ${name} over` });
  await putSecrets(scope, pool);
  if (found.difference !== undefined && !isServed) {
    const text = `the OS image of pool ${name} is not used, the cluster builds one: ${found.difference}`;
    note('warn', text, { builtFor: pool.rendered });
    await submitOsConfig(scope, object);
    return;
  }
  while (found.isImageForBoth) {
    const { rendered } = found;
    const build = await nameOfBuild(scope, config, found);
    const untagged = await tryTag(scope, pool, build);
    const wanted = machineOSBuildObject(config, build, rendered);
    await putBuild(scope, wanted, final);
    const uid = await putOsConfig(scope, object, build, final);
    await tieBuild(scope, wanted, { name: config.name, uid });
    note('info', `the OS image of pool ${name} is handed over`, {
      image: final,
      machineOSBuild: build,
    });
    if (untagged !== undefined) {
      // All but the tag is there, which is no reason to end an installation.
      const text = `the OS image of pool ${name} has no tag ${build} in its registry: add it by hand`;
      const { code, message: reason } = untagged;
      note('warn', text, { code, reason, image: final });
    }
    if ((await waitForPool(scope, name)) === rendered) return;
    found = await waitForRendering(scope, pool, 0, false);
    note('info', `pool ${name} was rendered again: ${found.difference ?? 'as before'}`);
  }
}

/**
 * A tag moves no data; the pool is paused, or has no node with the image, as long as a registry
 * takes.
 */
const tagWithin = minutes(5);

/**
 * Tags the image by the name of its build. By the tag the builder finds the image again should a
 * MachineOSConfig lose the name of its build.
 * @returns why there is no tag; undefined when there is one
 */
async function tryTag(
  scope: HandOverScope,
  { final, pushSecret }: PublishedPool,
  tag: string,
): Promise<AgentError | undefined> {
  const { clock, signal } = scope;
  const late = (): Error =>
    layeringFailure(
      'layering.registry-unreachable',
      `tagging ${final} as ${tag}: not within ${renderDuration(tagWithin)}`,
    );
  try {
    await limited(clock, { limit: tagWithin, signal, late }, (inner) =>
      tagImage({ ...scope, signal: inner }, final, tag, pushSecret),
    );
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return asAgentError(error);
  }
}

/**
 * Puts the Secrets of a pool where the Machine Config Operator looks for them. One that exists is
 * kept: the manifests of the installation put it there, and somebody may have given it newer
 * credentials since.
 * @throws AgentError `layering.manifest-unusable`, `kube.*`
 */
async function putSecrets(
  scope: StepScope<'host' | 'kube'>,
  { config: { spec }, pushSecret, baseSecret }: PoolRequest,
): Promise<void> {
  const files = new Map([[spec.renderedImagePushSecret.name, pushSecret]]);
  const base = spec.baseImagePullSecret?.name;
  if (base !== undefined && baseSecret !== undefined) files.set(base, baseSecret);
  for (const [name, path] of files) {
    const metadata = { name, namespace: operatorNamespace };
    const { value } = await readManifest(scope, path, 'Secret');
    const object: KubeObject = { ...value, apiVersion: 'v1', kind: 'Secret', metadata };
    await createUnlessThere(scope, { kind: secrets, ...metadata }, object);
  }
}
