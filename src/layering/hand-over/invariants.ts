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

/** An invariant that does not hold, with its first wrong value. */
export interface Violation extends Equality {
  /** `I1` to `I7`. */
  readonly id: string;
  readonly title: string;
}

/**
 * What must be true of an idle layered pool, each with the values to compare: the state in which
 * the Machine Config Operator does not touch it (its node controller, its builder and its daemon as
 * seen on 4.23). The daemon says `Done` only after it has found the booted image to be, letter for
 * letter, the one that it expects; that is as far as the API shows I1. It shows neither I5, that
 * the kernel arguments are set, nor I6, that the image can be pulled.
 */
function invariantsOf(snapshot: PoolSnapshot, { image, rendered }: ExpectedPoolState) {
  const { machineConfigPool: pool, osConfig, nodes } = snapshot;
  const build = currentBuild(snapshot);
  const onNodes = (key: keyof typeof nodeKeys, expected: string): readonly Equality[] =>
    nodes.map((node) =>
      is(`node ${node.metadata.name} ${key}`, expected, annotationOf(node, nodeKeys[key])),
    );
  const poolCount = (count: string): string => String(countAt(pool, 'status', count));
  return [
    [
      'I1',
      'every node of the pool has booted the image',
      [...onNodes('currentImage', image), ...onNodes('state', 'Done')],
    ],
    ['I2', 'every node of the pool has the image as desired image', onNodes('desiredImage', image)],
    [
      'I3',
      'the MachineOSConfig and its MachineOSBuild name the image',
      [
        is('MachineOSBuild image', image, textAt(build, 'status', 'digestedImagePushSpec')),
        is('MachineOSBuild Succeeded', 'True', conditionOf(build, 'Succeeded').status),
        is('MachineOSConfig image', image, textAt(osConfig, 'status', 'currentImagePullSpec')),
        is(
          'MachineOSConfig build',
          build?.metadata.name ?? 'an existing MachineOSBuild',
          textAt(osConfig, 'status', 'machineOSBuild', 'name'),
        ),
      ],
    ],
    [
      'I4',
      'pool, build and nodes have one rendered MachineConfig',
      [
        is('MachineConfigPool configuration', rendered, renderedNameOf(pool)),
        ...onNodes('currentConfig', rendered),
        ...onNodes('desiredConfig', rendered),
        is(
          'MachineOSBuild MachineConfig',
          rendered,
          textAt(build, 'spec', 'machineConfig', 'name'),
        ),
      ],
    ],
    [
      'I7',
      'the pool is idle: updated, not degraded, and no build runs',
      [
        ...restingConditions.map(([type, expected]) =>
          is(`pool ${type}`, expected, statusOf(pool, type)),
        ),
        ...['updatedMachineCount', 'readyMachineCount'].map((count) =>
          is(`pool ${count}`, poolCount('machineCount'), poolCount(count)),
        ),
        ...['unavailableMachineCount', 'degradedMachineCount'].map((count) =>
          is(`pool ${count}`, '0', poolCount(count)),
        ),
        is('build jobs', 'none', buildJobs(snapshot).join(' ') || 'none'),
      ],
    ],
  ] as const;
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

/** The invariants that do not hold, in their order. */
export const violationsOf = (
  snapshot: PoolSnapshot,
  expected: ExpectedPoolState,
): readonly Violation[] =>
  invariantsOf(snapshot, expected).flatMap(([id, title, equalities]) => {
    // What is not known yet is expected as an empty text; then nothing holds.
    const broken = equalities.find((one) => one.expected === '' || one.expected !== one.found);
    return broken === undefined ? [] : [{ id, title, ...broken }];
  });

/** As text: `I2:  node m1 desiredImage is …, expected …`. */
export const violationText = ({ id, of, found, expected }: Violation): string =>
  `${id}: ${of} is ${found === '' ? 'not there' : found}, expected ${expected === '' ? 'a value' : expected}`;

const is = (of: string, expected: string, found: string): Equality => ({ of, expected, found });
