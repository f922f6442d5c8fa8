import {
  jobs,
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
} from '../../kube/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { renderedNameOf } from '../../layering/api/machine-config-pool.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { violationsOf, violationText } from '../../layering/hand-over/invariants.ts';
import { poolSnapshot, stagingReferences } from '../../layering/hand-over/pool-status.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import { readServedConfig, servedImageProblem } from '../../layering/manifests/served-config.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { followed, gapAmong, longestWait, combineWatches } from '../cluster/kube-watch.ts';
import { buildsOsImages } from '../conditions.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { readRendered } from '../image/deploy-final.ts';
import { step, type StepScope } from '../step.ts';
import { earlyPools, mastersOf, mastersPool, whyNotServed, whyRelease } from './conditions.ts';
import { type PublishedPool, PublishedPools, StagingRegistry } from './facts.ts';

/**
 * The gate before this host leaves: the masters run the built image, the cluster knows it, and
 * nothing refers to the registry that ends with this host. After the reboot this host cannot repair
 * anything.
 */
export const waitForLayeredMasters = step({
  id: 'layering/wait-for-masters',
  title: 'Wait for the masters to run the built OS image',
  uses: ['kube'],
  needs: {
    controlPlane: ControlPlane,
    published: PublishedPools,
    registry: StagingRegistry,
  },
  when: buildsOsImages,
  skipIf: ({ published }) => whyRelease(published),
  limit: longestWait + hours(1) + minutes(10),
  explain: () =>
    'waits for nodes, MachineConfigPool, MachineOSConfig and MachineOSBuild to agree on the image',
  run: async (scope, { published, registry }) => {
    const why = whyNotServed(published);
    if (why === undefined) {
      scope.progress({ info: 'Waiting for the masters to run their image' });
      for (const pool of earlyPools(published)) await untilLayered(scope, pool);
    } else {
      scope.note('info', `not waiting for nodes: ${why}`);
    }
    if (registry.kind === 'running') await requireNoStaging(scope, registry.address);
  },
});

async function untilLayered(
  { kube, until }: StepScope<'kube'>,
  { pool, final }: PublishedPool,
): Promise<void> {
  const selections = {
    nodes: followed(kube, { kind: nodes }),
    pools: followed(kube, { kind: machineConfigPools }),
    osConfigs: followed(kube, { kind: machineOSConfigs }),
    builds: followed(kube, { kind: machineOSBuilds }),
    jobs: followed(kube, { kind: jobs, namespace: operatorNamespace }),
  };
  const all = Object.values(selections);
  const objectsOf = (name: keyof typeof selections): readonly KubeObject[] =>
    selections[name].view().objects;
  const poll = (): PollResult<true> => {
    const gap = gapAmong(...all);
    if (gap !== undefined) return { status: gap };
    const snapshot = poolSnapshot(pool, {
      pools: objectsOf('pools'),
      osConfigs: objectsOf('osConfigs'),
      builds: objectsOf('builds'),
      nodes: objectsOf('nodes'),
      jobs: objectsOf('jobs'),
    });
    if (pool === mastersPool && snapshot.nodes.length === 0)
      return { status: 'there is no master node yet' };
    // The cluster may have rendered it again since, and keeps the image then.
    const rendered = renderedNameOf(snapshot.machineConfigPool);
    const [first, ...others] = violationsOf(snapshot, { image: final, rendered });
    if (first === undefined) return { done: true };
    const more = others.length === 0 ? '' : `; also ${others.map(({ id }) => id).join(', ')}`;
    return { status: `${violationText(first)}${more}` };
  };
  await until(`the nodes of pool ${pool} run their OS image and the pool is updated`, poll, {
    watch: combineWatches(...all.map(({ watch }) => watch)),
    every: seconds(30),
    within: longestWait,
  });
}

/**
 * Requests are repeated while the API server is unavailable or refuses access, because a failed
 * request is no reason to end an installation here.
 * @throws AgentError `layering.staging-referenced`
 */
async function requireNoStaging(
  { kube, until }: StepScope<'kube'>,
  address: string,
): Promise<void> {
  const poll = async (signal: AbortSignal): Promise<PollResult<readonly string[]>> => {
    try {
      const found: string[] = [];
      for (const kind of [nodes, machineOSConfigs, machineOSBuilds, machineConfigs])
        found.push(...stagingReferences(address, kind.plural, await kube.list({ kind }, signal)));
      return { done: found };
    } catch (error) {
      signal.throwIfAborted();
      const { code } = asAgentError(error);
      if (!code.startsWith('kube.')) throw error;
      return { status: `objects cannot be read yet (${code})` };
    }
  };
  const limits = { every: seconds(15), within: hours(1) };
  const found = await until('nothing refers to the registry of this host', poll, limits);
  if (found.length === 0) return;
  const what = `${found.length} objects refer to ${address}: ${found.slice(0, 3).join(', ')}`;
  throw layeringFailure('layering.staging-referenced', what, { context: { registry: address } });
}

/**
 * Reads the config that this host itself will be served at its first boot. By now the cluster
 * serves it, whose rendered MachineConfig names the system of the release: the built image is in
 * the config only once the cluster counts a master as updated. A host that is served the other
 * config boots the system of the release, and then needs one more reboot to return.
 */
export const checkServedConfig = step({
  id: 'layering/check-served-config',
  title: 'Check that the config server serves the built OS image to this host',
  uses: ['host', 'web'],
  needs: { published: PublishedPools, ignition: HostIgnition },
  when: buildsOsImages,
  skipIf: ({ published }) => whyNotServed(published),
  limit: minutes(30),
  explain: () =>
    'waits for the machine-config-server to serve the built OS image, at most 20 minutes',
  run: async (scope, { published, ignition }) => {
    const image = mastersOf(published)?.final;
    // This host becomes a master, independent of the other pools.
    if (image === undefined) return;
    const read = (text: Uint8Array): void => {
      const fault = servedImageProblem(readServedConfig(text), image);
      if (fault !== undefined) throw layeringFailure('layering.other-image-served', fault);
    };
    await readRendered(scope, ignition.path, { read });
  },
});
