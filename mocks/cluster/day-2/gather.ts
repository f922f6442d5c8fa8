// Gathers the facts of the day after for the checks: from the hosts, the API server and the
// registries.
import { textOf } from '../../host/files.ts';
import { builtPools, type LayeredSite, machineOf, repositoryOf } from '../../layering/plan.ts';
import { recordedOn } from '../layering/node.ts';
import { operatorNamespace } from '../layering/controllers.ts';
import { readObjects } from '../layering/run-controllers.ts';
import { type ClusterWork, memberNamed } from '../site.ts';
import type { EndedDay, EndedHost } from './oracle.ts';
import { wantedPods, workerChange } from './person.ts';
import type { DayRecord } from './record.ts';

/** Facts that only the run of the day knows. */
interface Known {
  readonly record: DayRecord;
  /** The image of each host at the beginning. */
  readonly before: ReadonlyMap<string, string>;
  readonly restarts: (host: string) => number;
  /** How often a host lost its power. */
  readonly losses: (host: string) => number;
}

/** Service accounts of our programs; the API server must refuse none of their requests. */
const accounts = ['bootwright-node-controller', 'bootwright-node-agent'];

/** All facts for the checks, at this moment. */
export async function gatherDay(
  work: ClusterWork,
  layered: LayeredSite,
  known: Known,
): Promise<EndedDay> {
  const { pools, osConfigs } = await readObjects(work);
  const { record } = known;
  const nodes = record.nodes();
  return {
    pools: builtPools.map((pool) => ({
      pool,
      final: pushedLast(layered, pool),
      before: known.before.get(nodes.find((node) => node.pool === pool)?.name ?? '') ?? '',
      ...(pool === 'worker'
        ? { kernelArgument: workerChange.kernelArgument, file: workerChange.file.text }
        : { kernelArgument: undefined, file: undefined }),
      osConfig: osConfigs.find(({ metadata: { name } }) => name === pool),
      machineConfigPool: pools.find(({ metadata: { name } }) => name === pool),
    })),
    hosts: nodes.map(({ name }) => hostNow(work, layered, { ...known, name })),
    nodes,
    moments: record.moments,
    wanted: wantedPods,
    ready: record.ready.slice(record.ready.indexOf(wantedPods)),
    refused: await refusedRequests(work),
  };
}

/** The image that was pushed last to the repository of a pool, by digest. */
function pushedLast({ plan, network }: LayeredSite, pool: string): string {
  const repository = repositoryOf(plan, pool);
  const pushed = network.asked.findLast(
    ({ verb, image, refusal }) =>
      verb === 'push' && refusal === undefined && image.startsWith(`${repository}:${pool}-`),
  );
  const held = network.images.get(pushed?.image ?? '');
  return held === undefined ? '' : `${repository}@${held.digest}`;
}

function hostNow(
  work: ClusterWork,
  layered: LayeredSite,
  { name, restarts, losses }: Known & { readonly name: string },
): EndedHost {
  const machine = machineOf(layered, name);
  return {
    name,
    pool: memberNamed(work, name).role,
    booted: machine.running?.booted ?? '',
    recorded: recordedOn(machine),
    commandLine: textOf(machine.files, '/proc/cmdline') ?? '',
    file: textOf(machine.files, workerChange.file.path),
    restarts: restarts(name),
    powerLosses: losses(name),
  };
}

async function refusedRequests({ kube }: ClusterWork): Promise<readonly string[]> {
  const asked = await Promise.all(
    accounts.map((name) => kube.audited(`system:serviceaccount:${operatorNamespace}:${name}`)),
  );
  return asked
    .flat()
    .filter(({ status }) => status === 403)
    .map(({ verb, resource, path }) => `${verb} ${resource}: ${path}`);
}
