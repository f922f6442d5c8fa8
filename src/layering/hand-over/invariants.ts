import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, conditionOf, countAt, textAt } from '../../kube/object.ts';
import { nodeKeys } from '../api/node-keys.ts';
import { renderedNameOf } from '../api/machine-config-pool.ts';
import { buildKeys } from '../api/os-build.ts';

/** The objects of a layered pool, from the API server. */
export interface PoolSnapshot {
  readonly pool: string;
  readonly machineConfigPool: KubeObject | undefined;
  readonly osConfig: KubeObject | undefined;
  /** All MachineOSBuilds of the pool. */
  readonly builds: readonly KubeObject[];
  readonly nodes: readonly KubeObject[];
  /** The Jobs in `openshift-machine-config-operator`. */
  readonly jobs: readonly KubeObject[];
}

/** The values that a pool is compared with. */
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

/** The expected values of a pool, from the cluster's own objects. */
export const expectedState = ({
  osConfig,
  machineConfigPool,
}: PoolSnapshot): ExpectedPoolState => ({
  image: textAt(osConfig, 'status', 'currentImagePullSpec'),
  rendered: renderedNameOf(machineConfigPool),
});

/** Name of the Job with which the cluster's builder builds an image. */
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

/** An expected value and the actual one. */
export interface Equality {
  /** Owner and name of the value: `node m1 currentImage`. */
  readonly of: string;
  readonly expected: string;
  /** Empty where the value is missing. */
  readonly found: string;
}

/** A violated invariant, with its first wrong value. */
export interface Violation extends Equality {
  /** `I1` to `I7`. */
  readonly id: string;
  readonly title: string;
}

/**
 * The invariants of an idle layered pool, each with the values to compare. While they hold, the
 * Machine Config Operator does not touch the pool (its node controller, its builder and its daemon
 * as seen on 4.23). The daemon reports `Done` only after the booted image is, letter for letter,
 * the expected one; the API shows no more about I1. The API shows neither I5, kernel arguments are
 * set, nor I6, the image can be pulled.
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
          is(`pool ${type}`, expected, poolCondition(pool, type)),
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
 * are checked. Two controllers write the message of `ImageBuildDegraded` in turn; only its status
 * counts.
 */
const restingConditions = [
  ['Updated', 'True'],
  ['Updating', 'False'],
  ['Degraded', 'False'],
  ['ImageBuildDegraded', 'False'],
] as const;

/** A pool without any build has no condition `ImageBuildDegraded`. */
function poolCondition(pool: KubeObject | undefined, type: string): string {
  const { status } = conditionOf(pool, type);
  return type === 'ImageBuildDegraded' && status === '' && pool !== undefined ? 'False' : status;
}

/** The violated invariants, in their order. */
export const violationsOf = (
  snapshot: PoolSnapshot,
  expected: ExpectedPoolState,
): readonly Violation[] =>
  invariantsOf(snapshot, expected).flatMap(([id, title, equalities]) => {
    // An unknown value is expected as an empty text; then no invariant holds.
    const broken = equalities.find((one) => one.expected === '' || one.expected !== one.found);
    return broken === undefined ? [] : [{ id, title, ...broken }];
  });

/** As text: `I2:  node m1 desiredImage is …, expected …`. */
export const violationText = ({ id, of, found, expected }: Violation): string =>
  `${id}: ${of} is ${found === '' ? 'not there' : found}, expected ${expected === '' ? 'a value' : expected}`;

const is = (of: string, expected: string, found: string): Equality => ({ of, expected, found });
