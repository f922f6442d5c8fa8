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
/** The image of the masters in its final repository. */
export const final = `registry.rig.test/ocl/master@${digest}`;
/** The rendered MachineConfig of the masters. */
export const rendered = pool().configuration.name;
/** The name that a real builder gave to the build of these objects. */
export const buildNamed = 'master-b3ffe60c1714f15a7c675f2d775b5940';

/** Facts of a hand-over, for any result of the build. */
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

/** Secret and configuration of a hand-over without an image. */
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

/** A bootstrap host with the manifests of a hand-over, and a registry that accepts tags. */
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

/** The MachineConfigPool in the cluster after rendering. */
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

/** The rendered MachineConfig in the cluster. */
export const renderedConfig = (name = rendered, spec = {}): KubeObject => {
  const object = machineConfigObject(spec) as unknown as KubeObject;
  return { ...object, metadata: { ...object.metadata, name } };
};

/** The objects of the site, each with its kind. */
export const site: readonly (readonly [KubeKind, KubeObject])[] = [
  [machineConfigs, renderedConfig()],
  [machineConfigPools, renderedPool()],
];

/**
 * The objects of a hand-over, of the masters by default, without the fields that the server adds:
 * the same for every order of events.
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

/** A cluster whose client crashes at one of its writes. */
export interface DyingKube extends Kube {
  readonly writes: () => number;
}

/**
 * A cluster whose client crashes at one write, counted from 0: before the request is sent, or after
 * it has taken effect.
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
