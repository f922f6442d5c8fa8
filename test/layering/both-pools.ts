import { machineConfigPools, machineConfigs } from '../../src/kube/kinds.ts';
import { digestOf } from '../../src/lib/image-name.ts';
import type { PoolRequest, PublishedPool } from '../../src/steps/layering/facts.ts';
import { type FakeHost, rest } from '../support/fake-host.ts';
import {
  final,
  type HandOverFacts,
  handOverFacts,
  handOverHost,
  renderedConfig,
  site,
} from './hand-over-site.ts';
import { poolObject } from './layered-pool.ts';
import { images, ordered, osConfigObject } from './samples.ts';

const digest = `sha256:${'e'.repeat(64)}`;
const repository = 'registry.rig.test/ocl/worker';

/** The image of the workers in its final repository. */
export const workerFinal = `${repository}@${digest}`;
/** The rendered MachineConfig of the workers. */
export const workerRendered = `rendered-worker-${'5'.repeat(32)}`;
/** The MachineOSConfig of the workers, as in a file. */
export const workerOsConfig = osConfigObject(
  { renderedImagePushSpec: `${repository}:latest` },
  'worker',
);

const source = ['00-worker', '01-worker-kubelet', '99-worker-ssh'].map((name) => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfig',
  name,
}));

/** The MachineConfigPool of the workers in the cluster after rendering. */
const workerPool = poolObject('worker', { configuration: { name: workerRendered, source } });

const workerConfig = renderedConfig(workerRendered);

/** Objects of masters and workers, each with its kind. */
export const bothSite: typeof site = [
  ...site,
  [machineConfigs, workerConfig],
  [machineConfigPools, workerPool],
];

const workers: PoolRequest = {
  pool: 'worker',
  ...ordered(workerOsConfig),
  pushSecret: '/layering/push.yaml',
  repository,
};
const file = `/machine-configs/${workerRendered}.yaml`;

/**
 * The facts of a hand-over of masters and workers.
 * @throws TypeError when the facts of the masters hold no image
 */
export function bothFacts(): HandOverFacts {
  const { request, published } = handOverFacts;
  if (request.kind !== 'on' || published.kind === 'release')
    throw new TypeError('there is no image');
  const built: PublishedPool = {
    ...workers,
    rendered: workerRendered,
    file,
    osImage: images.baseOSContainerImage,
    staged: `10.0.0.1:5000/ocl/worker@${digest}`,
    digest,
    final: workerFinal,
  };
  return {
    request: { ...request, pools: [...request.pools, workers] },
    published: { ...published, pools: [...published.pools, built] },
  };
}

/** A bootstrap host with the manifests of both pools, and a registry with both images. */
export function bothHost(): FakeHost {
  return handOverHost()
    .on(['skopeo', 'inspect', rest])
    .answers((argv) => digestOf(argv.at(-1)?.includes(repository) === true ? workerFinal : final))
    .withFile(file, JSON.stringify(workerConfig));
}
