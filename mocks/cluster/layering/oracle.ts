// Invariants of a layered pool at the end, checked against the boots of its hosts, the objects of
// the API server and the content of the registries; none of it comes from the product.
import type { KubeObject } from '../../../src/ports/kube.ts';
import { releaseOs } from '../../layering/plan.ts';
import { isPaused } from './controllers.ts';
import { annotation, conditionIn, imageOf, partAt, textIn } from '../../layering/objects.ts';

/** A node of a pool, and the system that it really runs. */
export interface NodeState {
  readonly name: string;
  readonly node: KubeObject | undefined;
  /** The image of its last boot; empty for a host that never booted from its disk. */
  readonly booted: string;
  /** The image that its disk records; empty without one. */
  readonly recorded: string;
  readonly kernelArguments: readonly string[];
}

/** All facts for the checks of one pool. */
export interface PoolState {
  readonly pool: string;
  /**
   * FINAL: the image in its repository under the name of its MachineConfig, by digest; empty
   * without it.
   */
  readonly final: string;
  /** Name of the MachineConfig of its image. */
  readonly rendered: string;
  /** Kernel arguments of that MachineConfig. */
  readonly kernelArguments: readonly string[];
  readonly machineConfigPool: KubeObject | undefined;
  readonly osConfig: KubeObject | undefined;
  readonly builds: readonly KubeObject[];
  /** Names of jobs of the Machine Config Operator. */
  readonly jobs: readonly string[];
  readonly nodes: readonly NodeState[];
  /**
   * Refusals of FINAL by registries, to nodes and to users of the push Secret; empty without a
   * refusal.
   */
  readonly refusals: readonly string[];
}

type Found = readonly (readonly [what: string, there: string, expected: string])[];

const buildOf = ({ osConfig, builds }: PoolState): KubeObject | undefined =>
  builds.find(({ metadata }) => metadata.name === annotation(osConfig, 'current-machine-os-build'));

const ofNodes = ({ nodes }: PoolState, check: (one: NodeState) => Found): Found =>
  nodes.flatMap((one) =>
    check(one).map(([what, ...rest]) => [`node ${one.name} ${what}`, ...rest] as const),
  );

/** The invariants of a layered pool at rest, each as pairs of values that must be equal. */
const invariants: Readonly<Record<string, (pool: PoolState) => Found>> = {
  I1: (pool) => ofNodes(pool, ({ booted }) => [['booted', booted, pool.final]]),
  I2: (pool) =>
    ofNodes(pool, ({ node, recorded }) => [
      ...['currentImage', 'desiredImage'].map(
        (key) => [key, annotation(node, key), pool.final] as const,
      ),
      ['currentimage', recorded, pool.final],
    ]),
  I3: (pool) => [
    ['MachineOSConfig', imageOf(pool.osConfig), pool.final],
    ['MachineOSBuild', textIn(buildOf(pool), 'status', 'digestedImagePushSpec'), pool.final],
  ],
  I4: (pool) => [
    ['pool', textIn(pool.machineConfigPool, 'spec', 'configuration', 'name'), pool.rendered],
    ['MachineOSBuild', textIn(buildOf(pool), 'spec', 'machineConfig', 'name'), pool.rendered],
    ...ofNodes(pool, ({ node }) =>
      ['currentConfig', 'desiredConfig'].map((key) => [key, annotation(node, key), pool.rendered]),
    ),
  ],
  I5: (pool) =>
    ofNodes(pool, ({ kernelArguments }) =>
      pool.kernelArguments.map((argument) => [
        'kernel argument',
        kernelArguments.find((one) => one === argument) ?? '',
        argument,
      ]),
    ),
  I6: ({ refusals }) => refusals.map((words) => ['FINAL', words, 'an image that can be had']),
  I7: (pool) => [
    ...Object.entries({ Updated: 'True', Updating: 'False', Degraded: 'False' }).map(
      ([type, expected]) => [type, conditionIn(pool.machineConfigPool, type), expected] as const,
    ),
    [
      'ImageBuildDegraded',
      conditionIn(pool.machineConfigPool, 'ImageBuildDegraded') || 'False',
      'False',
    ],
    ...Object.entries(countsOf(pool)).map(
      ([count, expected]) =>
        [count, String(partAt(pool.machineConfigPool, 'status', count)), String(expected)] as const,
    ),
    ['jobs', pool.jobs.filter((name) => name.startsWith('build-')).join(' '), ''],
    ['paused', isPaused(pool.machineConfigPool) ? 'True' : '', ''],
    ...ofNodes(pool, ({ node }) => [['unschedulable', isCordoned(node) ? 'True' : '', '']]),
  ],
};

const isCordoned = (node: KubeObject | undefined): boolean =>
  partAt(node, 'spec', 'unschedulable') === true;

const countsOf = ({ nodes }: PoolState) => ({
  machineCount: nodes.length,
  updatedMachineCount: nodes.length,
  readyMachineCount: nodes.length,
  unavailableMachineCount: 0,
  degradedMachineCount: 0,
});

/** The violated invariants of a pool, each with its first different value. */
export function violationsOf(pool: PoolState): readonly string[] {
  if (pool.final === '') return [`pool ${pool.pool} has no image in its repository`];
  return Object.entries(invariants).flatMap(([id, check]) => {
    const broken = check(pool).find(([, there, expected]) => there !== expected);
    if (broken === undefined) return [];
    const [what, there, expected] = broken;
    return [
      `invariant ${id} of pool ${pool.pool}: ${what} is ${there || 'not there'} instead of ${expected || 'nothing'}`,
    ];
  });
}

// Invariants of a pool whose image could not be built, and whose cluster has to build it later.

/** Violations of a pool that fell back to the system of the release, one sentence each. */
export function violationsOfFallback(pool: PoolState): readonly string[] {
  const { nodes, osConfig, jobs } = pool;
  const builds = jobs.filter((name) => name.startsWith(`build-${pool.pool}-`));
  const wrong = [
    ...nodes.flatMap(({ name, node, booted, recorded }) => [
      ...(booted === releaseOs ? [] : [`node ${name} runs ${booted || 'nothing'}`]),
      ...(recorded === '' ? [] : [`the disk of node ${name} records ${recorded}`]),
      ...['currentImage', 'desiredImage']
        .filter((key) => annotation(node, key) !== '')
        .map((key) => `node ${name} has ${key} ${annotation(node, key)}`),
    ]),
    ...(osConfig === undefined ? ['it has no MachineOSConfig'] : []),
    ...(imageOf(osConfig) === '' ? [] : [`its MachineOSConfig names ${imageOf(osConfig)}`]),
    ...(builds.length === 1 ? [] : [`${builds.length} jobs build for it instead of one`]),
  ];
  return wrong.map((what) => `pool ${pool.pool} was to fall back: ${what}`);
}
