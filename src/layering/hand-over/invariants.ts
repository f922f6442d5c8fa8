import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, conditionOf, countAt, textAt } from '../../kube/object.ts';
import { nodeKeys } from '../api/node-keys.ts';
import { renderedNameOf } from '../api/machine-config-pool.ts';
import { buildKeys } from '../api/os-build.ts';

/** The objects of a layered pool, as the API has them. */
export interface PoolSnapshot {
  readonly pool: string;
  readonly machineConfigPool: KubeObject | undefined;
  readonly osConfig: KubeObject | undefined;
  /** Every MachineOSBuild of the pool. */
  readonly builds: readonly KubeObject[];
  /** The nodes of the pool. */
  readonly nodes: readonly KubeObject[];
  /** The jobs in `openshift-machine-config-operator`. */
  readonly jobs: readonly KubeObject[];
}

/** What a pool is compared with. */
export interface ExpectedPoolState {
  /** The image of the pool, by digest. */
  readonly image: string;
  /** Name of its rendered MachineConfig. */
  readonly rendered: string;
}

/** The current build of a MachineOSConfig. */
export function currentBuild({
  osConfig,
  builds,
}: Pick<PoolSnapshot, 'osConfig' | 'builds'>): KubeObject | undefined {
  const name = annotationOf(osConfig, buildKeys.currentBuild);
  return builds.find(({ metadata }) => metadata.name === name);
}

/** What the pool should be, by the cluster's own objects. */
export const expectedState = ({
  osConfig,
  machineConfigPool,
}: PoolSnapshot): ExpectedPoolState => ({
  image: textAt(osConfig, 'status', 'currentImagePullSpec'),
  rendered: renderedNameOf(machineConfigPool),
});

/** Name of the job in which the cluster's builder builds an image. */
export const jobOf = (build: string): string => `build-${build}`;

function buildJobs({ pool, builds, jobs }: PoolSnapshot): readonly string[] {
  const own = new Set(builds.map(({ metadata }) => jobOf(metadata.name)));
  return jobs
    .filter(
      ({ metadata: { name, labels } }) =>
        own.has(name) || (name.startsWith('build-') && labels?.[buildKeys.pool] === pool),
    )
    .map(({ metadata }) => metadata.name);
}

/** One expected value, and the one that was found. */
export interface Equality {
  /** Whose value it is: `node m1 currentImage`. */
  readonly of: string;
  readonly expected: string;
  /** Empty where nothing was found. */
  readonly found: string;
}

/** What must be true of an idle layered pool. */
export interface Invariant {
  /** `I1` to `I7`. */
  readonly id: string;
  readonly title: string;
  /** The values to compare; undefined where the API does not have them. */
  readonly equalities?: (
    snapshot: PoolSnapshot,
    expected: ExpectedPoolState,
  ) => readonly Equality[];
}

/**
 * The state in which the Machine Config Operator does not touch a layered pool (its node
 * controller, its builder and its daemon as seen on 4.23). The daemon says `Done` only after it has
 * found the booted image to be, letter for letter, the one that it expects; that is as far as the
 * API shows I1.
 */
export const invariants: readonly Invariant[] = [
  {
    id: 'I1',
    title: 'every node of the pool has booted the image',
    equalities: (snapshot, { image }) => [
      ...snapshot.nodes.map((node) => annotated(node, 'currentImage', image)),
      ...snapshot.nodes.map((node) => annotated(node, 'state', 'Done')),
    ],
  },
  {
    id: 'I2',
    title: 'every node of the pool has the image as desired image',
    equalities: ({ nodes }, { image }) =>
      nodes.map((node) => annotated(node, 'desiredImage', image)),
  },
  {
    id: 'I3',
    title: 'the MachineOSConfig and its MachineOSBuild name the image',
    equalities: (snapshot, { image }) => [
      is(
        'MachineOSBuild image',
        image,
        textAt(currentBuild(snapshot), 'status', 'digestedImagePushSpec'),
      ),
      is(
        'MachineOSBuild Succeeded',
        'True',
        conditionOf(currentBuild(snapshot), 'Succeeded').status,
      ),
      is(
        'MachineOSConfig image',
        image,
        textAt(snapshot.osConfig, 'status', 'currentImagePullSpec'),
      ),
      is(
        'MachineOSConfig build',
        currentBuild(snapshot)?.metadata.name ?? 'an existing MachineOSBuild',
        textAt(snapshot.osConfig, 'status', 'machineOSBuild', 'name'),
      ),
    ],
  },
  {
    id: 'I4',
    title: 'pool, build and nodes have one rendered MachineConfig',
    equalities: (snapshot, { rendered }) => [
      ...configured(snapshot, rendered),
      is(
        'MachineOSBuild MachineConfig',
        rendered,
        textAt(currentBuild(snapshot), 'spec', 'machineConfig', 'name'),
      ),
    ],
  },
  { id: 'I5', title: 'every kernel argument of the MachineConfig is set on its nodes' },
  { id: 'I6', title: 'the image can be pulled by nodes and inspected with the push secret' },
  {
    id: 'I7',
    title: 'the pool is idle: updated, not degraded, and no build runs',
    equalities: atRest,
  },
];

function configured(
  { machineConfigPool, nodes }: PoolSnapshot,
  rendered: string,
): readonly Equality[] {
  return [
    is('MachineConfigPool configuration', rendered, renderedNameOf(machineConfigPool)),
    ...nodes.flatMap((node) => [
      annotated(node, 'currentConfig', rendered),
      annotated(node, 'desiredConfig', rendered),
    ]),
  ];
}

function atRest(snapshot: PoolSnapshot): readonly Equality[] {
  const { machineConfigPool: pool } = snapshot;
  return [
    ...restingConditions.map(([type, expected]) =>
      is(`pool ${type}`, expected, statusOf(pool, type)),
    ),
    ...['updatedMachineCount', 'readyMachineCount'].map((count) =>
      is(
        `pool ${count}`,
        String(countAt(pool, 'status', 'machineCount')),
        String(countAt(pool, 'status', count)),
      ),
    ),
    ...['unavailableMachineCount', 'degradedMachineCount'].map((count) =>
      is(`pool ${count}`, '0', String(countAt(pool, 'status', count))),
    ),
    is('build jobs', 'none', buildJobs(snapshot).join(' ') || 'none'),
  ];
}

/**
 * `Updated` and `Updating` are both true while a build for the same configuration waits, so both
 * are checked. The message of `ImageBuildDegraded` is written by two controllers in turn; only its
 * status counts.
 */
const restingConditions = [
  ['Updated', 'True'],
  ['Updating', 'False'],
  ['Degraded', 'False'],
  ['ImageBuildDegraded', 'False'],
] as const;

/** A pool without any build has no condition `ImageBuildDegraded`. */
function statusOf(pool: KubeObject | undefined, type: string): string {
  const { status } = conditionOf(pool, type);
  return type === 'ImageBuildDegraded' && status === '' && pool !== undefined ? 'False' : status;
}

/** An invariant that does not hold, with its first wrong value. */
export interface Violation extends Equality {
  readonly id: string;
  readonly title: string;
}

/** The invariants that do not hold, in their order. */
export function violationsOf(
  snapshot: PoolSnapshot,
  expected: ExpectedPoolState,
): readonly Violation[] {
  return invariants.flatMap(({ id, title, equalities }) => {
    const broken = equalities?.(snapshot, expected).find((one) => !holds(one));
    return broken === undefined ? [] : [{ id, title, ...broken }];
  });
}

/** As text: `I2:  node m1 desiredImage is …, expected …`. */
export const violationText = ({ id, of, found, expected }: Violation): string =>
  `${id}: ${of} is ${found === '' ? 'not there' : found}, expected ${expected === '' ? 'a value' : expected}`;

/** What is not known yet is expected as an empty text; then nothing holds. */
const holds = ({ expected, found }: Equality): boolean => expected !== '' && expected === found;

const is = (of: string, expected: string, found: string): Equality => ({
  of,
  expected,
  found,
});

const annotated = (node: KubeObject, key: keyof typeof nodeKeys, expected: string): Equality =>
  is(`node ${node.metadata.name} ${key}`, expected, annotationOf(node, nodeKeys[key]));
