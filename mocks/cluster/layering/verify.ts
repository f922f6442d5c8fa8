// Gathers the facts for the invariants, once the cluster has settled.
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../../src/ports/kube.ts';
import { kernelArguments, pushAuth } from '../../layering/objects.ts';
import { type BuiltPool, builtPools, type LayeredSite, repositoryOf } from '../../layering/plan.ts';
import { credentialsIn } from '../../registries/network.ts';
import { renderedName } from '../objects.ts';
import type { ClusterWork } from '../site.ts';
import { recordedOn } from './node.ts';
import { type NodeState, type PoolState, violationsOf, violationsOfFallback } from './oracle.ts';
import { readObjects } from './run-controllers.ts';

const POLL_INTERVAL_MILLIS = 250;
const RESTS_WITHIN_MILLIS = 300_000;

/**
 * Violations by the operating systems of a cluster. An installed cluster gets time to settle; for
 * any other only forbidden actions are reported.
 */
export async function verifyLayering(
  work: ClusterWork,
  layered: LayeredSite,
): Promise<readonly string[]> {
  const isInstalled = work.store.hosts().every(({ stage }) => stage === 'Done');
  const atRest = isInstalled ? await violationsAtRest(work, layered) : [];
  return [...layered.incidents, ...strangersOf(layered), ...survivorOf(layered), ...atRest];
}

async function violationsAtRest(
  work: ClusterWork,
  layered: LayeredSite,
): Promise<readonly string[]> {
  const until = Date.now() + RESTS_WITHIN_MILLIS;
  for (;;) {
    const pools = await poolsOf(work, layered);
    const check = layered.plan.fallsBack === true ? violationsOfFallback : violationsOf;
    const found = pools.flatMap(check);
    if (found.length === 0 || Date.now() > until) return found;
    await sleep(POLL_INTERVAL_MILLIS);
  }
}

/**
 * The image in the repository of a pool under the name of its MachineConfig, by digest; empty
 * without it.
 */
export function finalOf({ plan, network }: LayeredSite, pool: BuiltPool): string {
  const repository = repositoryOf(plan, pool);
  const held = network.images.get(`${repository}:${renderedName(pool)}`);
  return held === undefined ? '' : `${repository}@${held.digest}`;
}

async function poolsOf(work: ClusterWork, layered: LayeredSite): Promise<readonly PoolState[]> {
  const { members } = work;
  const { pools, osConfigs, builds, nodes, jobs } = await readObjects(work);
  const all = members.map(({ name }) => stateOfNode(layered, name, named(nodes, name)));
  return builtPools.map((pool) => ({
    pool,
    final: finalOf(layered, pool),
    rendered: renderedName(pool),
    kernelArguments,
    machineConfigPool: named(pools, pool),
    osConfig: named(osConfigs, pool),
    builds,
    jobs: jobs.map(({ metadata }) => metadata.name),
    nodes: all.filter((_, at) => members[at]?.role === pool),
    refusals: refusalsOf(layered, pool, members.find(({ role }) => role === pool)?.name),
  }));
}

const named = (objects: readonly KubeObject[], name: string): KubeObject | undefined =>
  objects.find(({ metadata }) => metadata.name === name);

function stateOfNode(
  { systems, machines }: LayeredSite,
  name: string,
  node: KubeObject | undefined,
): NodeState {
  const system = systems.get(name);
  const machine = machines.get(name);
  return {
    name,
    node,
    booted: system?.image ?? '',
    recorded: machine === undefined ? '' : recordedOn(machine),
    kernelArguments: system?.kernelArguments ?? [],
  };
}

/** Later nodes and the builder need FINAL. */
function refusalsOf(
  layered: LayeredSite,
  pool: BuiltPool,
  node: string | undefined,
): readonly string[] {
  const { plan, network, systems } = layered;
  const image = finalOf(layered, pool);
  const secrets = [systems.get(node ?? '')?.pullSecret, pushAuth(plan)];
  return secrets.flatMap((secret) => {
    if (secret === undefined || image === '') return [];
    const credentials = credentialsIn(secret, plan.registry);
    return network.refusal({ by: 'oracle', verb: 'pull', image, credentials }) ?? [];
  });
}

/** The registry that should die at its first push, but got no push. */
function survivorOf({
  plan: { diesForSeconds, registry },
  network,
}: LayeredSite): readonly string[] {
  const hasDied = network.asked.some((one) => one.registry === registry && one.verb === 'push');
  return diesForSeconds === undefined || hasDied ? [] : [`nobody pushed to ${registry}`];
}

/** Behind a mirror only the mirror may get requests. */
function strangersOf({ plan: { mirror }, network }: LayeredSite): readonly string[] {
  if (mirror === undefined) return [];
  const others = network.asked.filter(({ registry }) => registry !== mirror);
  return others.map(({ by, verb, image }) => `${by} was to ${verb} ${image} past the mirror`);
}
