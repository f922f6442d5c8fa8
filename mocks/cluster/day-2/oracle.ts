// Invariants of a cluster after a rolled-out change, checked against the systems of its hosts, the
// events of a watch, and the content of the registries; none of it comes from the product.
import type { KubeObject } from '../../../src/ports/kube.ts';
import { textIn } from '../../layering/objects.ts';
import { type DayRecord, isAway, type SeenNode } from './record.ts';

/** A host at the end. */
export interface EndedHost {
  readonly name: string;
  readonly pool: string;
  /** The image of its last boot. */
  readonly booted: string;
  /** The image that its disk records. */
  readonly recorded: string;
  readonly commandLine: string;
  /** The text of the file in the change; undefined without one. */
  readonly file: string | undefined;
  /** Number of its restarts, and of those by a loss of power. */
  readonly restarts: number;
  readonly powerLosses: number;
}

/** A pool at the end. */
export interface EndedPool {
  readonly pool: string;
  /**
   * The image that was pushed last to its repository, by digest, and the earlier image of its
   * nodes.
   */
  readonly final: string;
  readonly before: string;
  /** The kernel argument in the change; undefined without one. */
  readonly kernelArgument: string | undefined;
  readonly file: string | undefined;
  readonly osConfig: KubeObject | undefined;
  readonly machineConfigPool: KubeObject | undefined;
}

/** All facts for the checks. */
export interface EndedDay {
  readonly pools: readonly EndedPool[];
  readonly hosts: readonly EndedHost[];
  readonly nodes: readonly SeenNode[];
  readonly moments: DayRecord['moments'];
  /**
   * Number of Ready pods of the workload since all were Ready, and the number that its budget
   * requires.
   */
  readonly ready: readonly number[];
  readonly wanted: number;
  /** Requests of our programs that the API server refused (403). */
  readonly refused: readonly string[];
}

/** All violations, one sentence each. */
export const dayViolations = (day: EndedDay): readonly string[] => [
  ...crowds(day),
  ...day.hosts.flatMap((host) => wrongHost(day, host)),
  ...day.nodes.flatMap((node) => wrongNode(day, node)),
  ...day.pools.flatMap(wrongPool),
  ...brokenBudget(day),
  ...day.refused.map((request) => `refused: ${request}`),
];

const poolOf = ({ pools }: EndedDay, pool: string): EndedPool | undefined =>
  pools.find((one) => one.pool === pool);

/** No two nodes of a pool are away at once; each such group is named once. */
function crowds({ moments }: EndedDay): readonly string[] {
  const found = moments.flatMap((nodes) =>
    ['master', 'worker'].flatMap((pool) => {
      const away = nodes.filter((node) => node.pool === pool && isAway(node));
      return away.length > 1 ? [`away at once: ${away.map(({ name }) => name).join(', ')}`] : [];
    }),
  );
  return [...new Set(found)];
}

/** Pairs of values that must be equal, each with its name. */
type Compared = readonly (readonly [
  what: string,
  is: string | undefined,
  expected: string | undefined,
])[];

const differing = (compared: Compared): readonly string[] =>
  compared
    .filter(([, is = '', expected = '']) => is !== expected)
    .map(
      ([what, is = '', expected = '']) =>
        `${what} ${is || 'nothing'}, not ${expected || 'nothing'}`,
    );

function wrongHost(day: EndedDay, host: EndedHost): readonly string[] {
  const { final, kernelArgument, file } = poolOf(day, host.pool) ?? {};
  const { name, commandLine, restarts, powerLosses } = host;
  const words = commandLine.split(/\s+/);
  return differing([
    [`host ${name} runs`, host.booted, final],
    [`the disk of ${name} records`, host.recorded, final],
    [`host ${name} went down`, String(restarts), String(1 + powerLosses)],
    [`the kernel of ${name} has`, words.find((word) => word === kernelArgument), kernelArgument],
    [`the file of ${name} has`, host.file, file],
  ]);
}

function wrongNode(day: EndedDay, node: SeenNode): readonly string[] {
  const { name, state, current, desired, request, isCordoned, isReady } = node;
  const { final = '', machineConfigPool } = poolOf(day, node.pool) ?? {};
  const wanted = `${textIn(machineConfigPool, 'spec', 'configuration', 'name')} ${final}`;
  return differing([
    [`node ${name} is`, state, 'Done'],
    [`node ${name} has`, current, wanted],
    [`node ${name} is to have`, desired, wanted],
    [`node ${name} asks for`, request, ''],
    [`node ${name} is`, isCordoned ? 'cordoned' : 'uncordoned', 'uncordoned'],
    [`node ${name} is`, isReady ? 'Ready' : 'NotReady', 'Ready'],
  ]);
}

function wrongPool({ pool, final, before, osConfig }: EndedPool): readonly string[] {
  return differing([
    [`the image of pool ${pool} is`, final === before ? 'the old one' : 'another', 'another'],
    [`MachineOSConfig ${pool} names`, textIn(osConfig, 'status', 'currentImagePullSpec'), final],
  ]);
}

function brokenBudget({ ready, wanted }: EndedDay): readonly string[] {
  const fewest = Math.min(...ready);
  return fewest >= wanted
    ? []
    : [`only ${fewest} of ${wanted} pods were Ready that a budget wants`];
}
