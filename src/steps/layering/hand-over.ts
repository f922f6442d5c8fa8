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
  // The API server is unavailable for a while whenever etcd adds or removes a member.
  retry: { attempts: 10, every: seconds(15) },
  limit: longestWait + minutes(30),
} as const;

/**
 * Hands over the images of the pools as objects of the cluster's own controllers. From the
 * rendering of a pool on, these controllers regard an image on a node as an error if the pool is
 * not layered yet: therefore each pool is paused until its image is handed over. Masters come
 * first, because they join first.
 */
export const handOverServed = step({
  ...handingOver,
  id: 'layering/hand-over',
  title: 'Hand the built OS images over to the cluster',
  uses: ['host', 'kube', 'clock'],
  needs: { published: PublishedPools },
  skipIf: ({ published }) => whyRelease(published),
  explain: () => 'waits until the cluster renders each MachineConfigPool like this host',
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

/** The reason to submit no MachineOSConfig last; undefined if some are submitted. */
function unlessSubmitted({ request, published }: NeedValues<typeof submitNeeds>) {
  if (request.kind === 'off') return request.why;
  const isHandedOver = request.kind === 'on' && published.kind === 'pools';
  return isHandedOver ? 'the OS images are handed over' : undefined;
}

/**
 * Submits the MachineOSConfigs without an image, as late as this host can: the cluster builds by
 * itself, and drains masters to roll an image out. Until this host becomes the third, there are two
 * masters.
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
 * Time for a pool that is rendered differently to become equal: the first rendering of a cluster
 * lacks parts from objects that are created a little later.
 */
const settlesWithin = minutes(5);

/**
 * Hands over the image of a pool: Secrets, tag, MachineOSBuild, its status, MachineOSConfig, its
 * status, owner. Each object exists before the controllers of the cluster look for it, in an order
 * in which none of them ever has a reason to build, or to remove an image. Existing objects are
 * kept, so that the next attempt completes an attempt that was interrupted at any point. A pool
 * that was rendered again meanwhile is read again. If the image does not fit the rendered
 * MachineConfig, the cluster builds.
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
      // Everything but the tag exists, which is no reason to end an installation.
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
 * A tag moves no data; while a registry is slow, the pool is paused or has no node with the image.
 */
const tagWithin = minutes(5);

/**
 * Tags the image with the name of its build. By the tag the builder finds the image again if a
 * MachineOSConfig loses the name of its build.
 * @returns the reason why the tag is missing; undefined if it exists
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
 * Creates the Secrets of a pool in the namespace of the Machine Config Operator. An existing Secret
 * is kept: the manifests of the installation created it, and it may have newer credentials since.
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
