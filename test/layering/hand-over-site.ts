import {
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  machineOSConfigs,
} from '../../src/kube/kinds.ts';
import type { Kube, KubeKind, KubeObject } from '../../src/ports/kube.ts';
import type { BuildRequest, PoolRequest, PublishedPools } from '../../src/steps/layering/facts.ts';
import { fakeHost, type FakeHost, rest } from '../support/fake-host.ts';
import { poolObject } from './layered-pool.ts';
import { images, machineConfigObject, ordered, osConfigObject, pool } from './samples.ts';

const digest = `sha256:${'d'.repeat(64)}`;

/** The namespace of the Machine Config Operator. */
export const operator = 'openshift-machine-config-operator';
/** The image of the masters under its name for good. */
export const final = `registry.rig.test/ocl/master@${digest}`;
/** The rendered MachineConfig of the masters. */
export const rendered = pool().configuration.name;
/** What a real builder called the build of these objects. */
export const buildNamed = 'master-b3ffe60c1714f15a7c675f2d775b5940';

/** Facts of a hand-over, whatever became of its images. */
export interface HandOverFacts {
  readonly request: BuildRequest;
  readonly published: PublishedPools;
}

const masters: PoolRequest = {
  pool: 'master',
  ...ordered(osConfigObject()),
  pushSecret: '/layering/push.yaml',
  repository: 'registry.rig.test/ocl/master',
};

/** The facts of a hand-over of the masters. */
export const handOverFacts: HandOverFacts = {
  request: { kind: 'on', why: 'asked for', pools: [masters] },
  published: {
    kind: 'pools',
    pools: [
      {
        ...masters,
        rendered,
        file: `/machine-configs/${rendered}.yaml`,
        osImage: images.baseOSContainerImage,
        staged: `10.0.0.1:5000/ocl/master@${digest}`,
        digest,
        final,
      },
    ],
  },
};

/** Secret and configuration of a hand-over that failed to build anything. */
export const fallbackFacts: HandOverFacts = {
  ...handOverFacts,
  published: { kind: 'release', why: 'the build failed' },
};

const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'ocl-push', namespace: operator },
  type: 'kubernetes.io/dockerconfigjson',
  stringData: { '.dockerconfigjson': '{"auths":{"registry.rig.test":{"auth":"dTpw"}}}' },
};

/** A bootstrap host with the manifests of a hand-over and a registry that takes tags. */
export const handOverHost = (): FakeHost =>
  fakeHost()
    .on(['install', rest])
    .succeeds()
    .on(['skopeo', 'copy', rest])
    .succeeds()
    .on(['skopeo', 'inspect', rest])
    .prints(digest)
    .withFile('/layering/push.yaml', JSON.stringify(secret))
    .withFile(
      `/machine-configs/${rendered}.yaml`,
      JSON.stringify({ ...machineConfigObject(), metadata: { name: rendered } }),
    );

/** The MachineConfigPool as the cluster has it once it has rendered. */
export const renderedPool = (
  name = rendered,
  status: Parameters<typeof poolObject>[2] = {},
): KubeObject => {
  const source = pool().configuration.source.map((one) => ({
    apiVersion: one.apiVersion,
    kind: one.kind,
    name: one.name,
  }));
  return poolObject('master', { configuration: { name, source } }, status);
};

/** The rendered MachineConfig as the cluster has it. */
export const renderedConfig = (name = rendered, spec = {}): KubeObject => {
  const object = machineConfigObject(spec) as unknown as KubeObject;
  return { ...object, metadata: { ...object.metadata, name } };
};

/** Where the objects of the site belong. */
export const site: readonly (readonly [KubeKind, KubeObject])[] = [
  [machineConfigs, renderedConfig()],
  [machineConfigPools, renderedPool()],
];

/**
 * The objects of a hand-over, of the masters unless said, without what the server adds: the same
 * after any way of getting there.
 */
export async function handedOver(
  kube: Pick<Kube, 'get'>,
  name = 'master',
  machineOSBuild = buildNamed,
): Promise<unknown> {
  const { signal } = new AbortController();
  const build = await kube.get({ kind: machineOSBuilds, name: machineOSBuild }, signal);
  const config = await kube.get({ kind: machineOSConfigs, name }, signal);
  return [build, config].map((object) => object && essence(object, config?.metadata.uid ?? ''));
}

function essence(object: KubeObject, ownerUid: string): unknown {
  const { metadata, spec, status } = object as KubeObject & {
    readonly metadata: KubeObject['metadata'] & {
      readonly finalizers?: readonly string[];
      readonly ownerReferences?: readonly { readonly uid: string }[];
    };
  };
  const { name, labels, annotations, finalizers, ownerReferences } = metadata;
  const owners = ownerReferences?.map((owner) => ({ ...owner, uid: owner.uid === ownerUid }));
  return { name, labels, annotations, finalizers, owners, spec, status };
}

/** A death that comes with one of the writes to the cluster. */
export interface DyingKube extends Kube {
  readonly writes: () => number;
}

/**
 * A cluster whose client dies with its write of a number, counted from 0: before it is sent, or
 * when it has taken effect.
 */
export function dyingKube(kube: Kube, write: number, when: 'before' | 'after'): DyingKube {
  let writes = 0;
  const counted = async <T>(send: () => Promise<T>): Promise<T> => {
    const isLast = writes === write;
    writes += 1;
    if (isLast && when === 'before') throw new Error('died');
    const answer = await send();
    if (isLast) throw new Error('died');
    return answer;
  };
  return {
    ...kube,
    writes: () => writes,
    patch: (ref, patch, signal) => counted(() => kube.patch(ref, patch, signal)),
    create: (into, object, signal) => counted(() => kube.create(into, object, signal)),
    replace: (ref, object, options) => counted(() => kube.replace(ref, object, options)),
    remove: (ref, signal) => counted(() => kube.remove(ref, signal)),
  };
}
