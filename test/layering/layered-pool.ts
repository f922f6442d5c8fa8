import type { Fields } from '../../src/lib/fields.ts';
import type { ClusterSnapshot } from '../../src/layering/hand-over/pool-status.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import { conditionsOf } from './build-conditions.ts';

const prefix = 'machineconfiguration.openshift.io';
const apiVersion = `${prefix}/v1`;

/** The image of the pool of masters. */
export const masterImage = `registry.example.com/ocl/master@sha256:${'a'.repeat(64)}`;
/** The rendered MachineConfig of the masters. */
export const masterRendered = `rendered-master-${'0'.repeat(32)}`;
/** The MachineOSBuild of the masters. */
export const masterBuild = `master-${'1'.repeat(32)}`;

/** Changes to the parts of a layered pool. */
export interface LayeredPool {
  /** Annotations of every node, without their prefix; undefined removes one. */
  readonly node?: Readonly<Record<string, string | undefined>>;
  /** Members of the MachineConfigPool's spec. */
  readonly pool?: Fields;
  /** Members of its status. */
  readonly poolStatus?: Fields;
  /** Conditions of the pool with another status. */
  readonly conditions?: Readonly<Record<string, string>>;
  readonly osConfig?: Partial<KubeObject>;
  readonly build?: Partial<KubeObject>;
  readonly jobs?: readonly string[];
  readonly nodes?: readonly string[];
}

/** A node of a cluster with its labels and annotations. */
export const nodeObject = (
  name: string,
  role: string,
  annotations: Readonly<Record<string, string | undefined>> = {},
): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name,
    labels: { [`node-role.kubernetes.io/${role}`]: '' },
    annotations: Object.fromEntries(
      Object.entries(annotations).flatMap(([key, value]) =>
        value === undefined ? [] : [[`${prefix}/${key}`, value] as const],
      ),
    ),
  },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
});

/** A pool that selects nodes by the label of their role. */
export const poolObject = (name: string, spec: Fields = {}, status: Fields = {}): KubeObject => ({
  apiVersion,
  kind: 'MachineConfigPool',
  metadata: { name },
  spec: {
    nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } },
    machineConfigSelector: { matchLabels: { [`${prefix}/role`]: name } },
    ...spec,
  },
  status,
});

const atRest = {
  Updated: 'True',
  Updating: 'False',
  Degraded: 'False',
  ImageBuildDegraded: 'False',
};

/**
 * A cluster whose masters run their image, with all invariants holding, and with the given changes.
 */
export function layeredCluster(change: LayeredPool = {}): ClusterSnapshot {
  const { nodes = ['m1', 'm2'], jobs = [] } = change;
  const conditions = Object.entries({ ...atRest, ...change.conditions }).map(([type, status]) => ({
    type,
    status,
  }));
  const count = nodes.length;
  return {
    pools: [
      poolObject(
        'master',
        { configuration: { name: masterRendered, source: [] }, ...change.pool },
        {
          machineCount: count,
          updatedMachineCount: count,
          readyMachineCount: count,
          unavailableMachineCount: 0,
          degradedMachineCount: 0,
          conditions,
          ...change.poolStatus,
        },
      ),
      poolObject('worker'),
    ],
    osConfigs: [
      {
        apiVersion,
        kind: 'MachineOSConfig',
        metadata: {
          name: 'master',
          uid: 'u1',
          annotations: { [`${prefix}/current-machine-os-build`]: masterBuild },
        },
        spec: { renderedImagePushSpec: 'registry.example.com/ocl/master:latest' },
        status: { currentImagePullSpec: masterImage, machineOSBuild: { name: masterBuild } },
        ...change.osConfig,
      },
    ],
    builds: [
      {
        apiVersion,
        kind: 'MachineOSBuild',
        metadata: { name: masterBuild, ownerReferences: [{ uid: 'u1' }] } as KubeObject['metadata'],
        spec: {
          machineConfig: { name: masterRendered },
          machineOSConfig: { name: 'master' },
          renderedImagePushSpec: `registry.example.com/ocl/master:${masterBuild}`,
        },
        status: {
          digestedImagePushSpec: masterImage,
          conditions: conditionsOf('seeded', new Date(0)),
        },
        ...change.build,
      },
    ],
    nodes: nodes.map((name) =>
      nodeObject(name, 'master', {
        currentConfig: masterRendered,
        desiredConfig: masterRendered,
        currentImage: masterImage,
        desiredImage: masterImage,
        state: 'Done',
        ...change.node,
      }),
    ),
    jobs: jobs.map((name) => ({ metadata: { name, namespace: 'x' } })),
  };
}

/** A master that has booted an image and joined with it, with the annotations of its daemon. */
export const masterOn = (name: string, rendered: string, image: string): KubeObject =>
  nodeObject(name, 'master', {
    currentConfig: rendered,
    desiredConfig: rendered,
    currentImage: image,
    desiredImage: image,
    state: 'Done',
  });
