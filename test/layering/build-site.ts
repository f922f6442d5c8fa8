import {
  events,
  jobs,
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
  pods,
} from '../../src/cluster/kinds.ts';
import { buildKeys } from '../../src/layering/api/os-build.ts';
import type { Fields } from '../../src/layering/api/schema.ts';
import { phaseOf, poolSnapshot } from '../../src/layering/hand-over/pool-status.ts';
import { rollOutTarget } from '../../src/layering/roll-out/target.ts';
import { seconds } from '../../src/model/duration.ts';
import type { Kube, KubeObject } from '../../src/ports/kube.ts';
import { fakeClock, settle } from '../support/fake-clock.ts';
import { type FakeKube, fakeKube } from '../support/fake-kube.ts';
import { runPools } from '../support/run-pools.ts';
import { nodeObject, poolObject } from './layered-pool.ts';
import { machineConfigObject, osConfigObject } from './samples.ts';

export const namespace = 'assisted-installer';
const asObject = (object: Fields): KubeObject => object as object as KubeObject;
export const digestOf = (digit: string): string => `sha256:${digit.repeat(64)}`;
export const repository = 'registry.rig.test/ocl/master';
export const controllerPod = {
  metadata: { name: 'c', namespace, labels: { app: 'bootwright-node-controller' } },
  spec: { containers: [{ image: 'r.test/bootwright:1' }] },
  status: { phase: 'Running' },
};

/** A cluster whose masters are layered, and which the operator does not run. */
export function cluster() {
  const kube = fakeKube();
  const clock = fakeClock({ auto: false, start: Date.parse('2026-11-24T00:00:00Z') });
  const pool = poolObject('master');
  const render = (digit: string, spec: Fields = {}): void => {
    const rendered = asObject(machineConfigObject(spec));
    const name = `rendered-master-${digit.repeat(32)}`;
    kube.put(machineConfigs, { ...rendered, metadata: { ...rendered.metadata, name } });
    const configuration = { name, source: [] };
    kube.put(machineConfigPools, { ...pool, spec: { ...(pool['spec'] as object), configuration } });
  };
  /** Changes the spec of the MachineOSConfig as a person does. */
  const order = (spec: Fields, generation: number): void => {
    const [before] = kube.objectsOf(machineOSConfigs);
    const object = asObject(osConfigObject(spec));
    const metadata = { ...object.metadata, ...before?.metadata, generation };
    kube.put(machineOSConfigs, { ...before, ...object, metadata });
  };
  render('0');
  order({}, 1);
  kube.put(pods, controllerPod);
  const [m1] = [nodeObject('m1', 'master')];
  const labels = { ...m1.metadata.labels, 'kubernetes.io/arch': 'arm64' };
  kube.put(nodes, { ...m1, metadata: { ...m1.metadata, labels } });

  const advance = async (times = 8): Promise<void> => {
    for (let passed = 0; passed < times; passed += 1) {
      await clock.advance(seconds(2));
      await settle();
    }
  };
  const start = (port: Kube = kube, crash = new AbortController()) => {
    const ended = runPools('build-images', { kube: port, clock, signal: crash.signal });
    return async (): Promise<readonly string[]> => {
      crash.abort(new Error('stop'));
      return (await ended).notes;
    };
  };
  return { kube, clock, render, order, advance, start };
}
export type Cluster = ReturnType<typeof cluster>;

export const buildsOf = (kube: FakeKube): readonly (readonly [string, string])[] =>
  kube.objectsOf(machineOSBuilds).map((build) => [rendersOf(build), phaseOf(build)]);
const rendersOf = (build: KubeObject): string =>
  (build as unknown as { spec: { machineConfig: { name: string } } }).spec.machineConfig.name.at(
    -1,
  ) ?? '';
export const osConfigOf = (kube: FakeKube) =>
  kube.objectsOf(machineOSConfigs)[0] as unknown as KubeObject & {
    status: { currentImagePullSpec: string };
  };
export const currentName = (kube: FakeKube): string =>
  osConfigOf(kube).metadata.annotations?.[buildKeys.currentBuild] ?? '';
export const currentOf = (kube: FakeKube): KubeObject | undefined =>
  kube.objectsOf(machineOSBuilds).find(({ metadata }) => metadata.name === currentName(kube));
export const targetOf = (kube: FakeKube): object => {
  const [pools, osConfigs, builds] = [machineConfigPools, machineOSConfigs, machineOSBuilds].map(
    kube.objectsOf,
  );
  return rollOutTarget(
    poolSnapshot('master', {
      pools: pools!,
      osConfigs: osConfigs!,
      builds: builds!,
      nodes: [],
      jobs: [],
    }),
  );
};
export const eventsOf = (kube: FakeKube): readonly string[] =>
  kube.objectsOf(events).map((event) => (event as unknown as { reason: string }).reason);

/** Does to the Job that is there what its controller and a kubelet do. */
export function endJob(
  kube: FakeKube,
  outcome: { digest: string } | { error: string } | 'active',
): void {
  const [job] = kube.objectsOf(jobs);
  if (job === undefined) throw new Error('there is no Job');
  const { name } = job.metadata;
  if (outcome === 'active') {
    kube.put(jobs, { ...job, status: { active: 1 } });
    return;
  }
  const message = 'digest' in outcome ? outcome.digest : outcome.error;
  kube.put(pods, {
    metadata: { name: `${name}-x`, namespace, labels: { 'batch.kubernetes.io/job-name': name } },
    status: { containerStatuses: [{ name: 'build', state: { terminated: { message } } }] },
  });
  const condition =
    'digest' in outcome
      ? { type: 'Complete', status: 'True' }
      : { type: 'Failed', status: 'True', reason: 'PodFailurePolicy', message: 'exit code 2' };
  kube.put(jobs, {
    ...job,
    status: { conditions: [condition], completionTime: '2026-11-24T00:00:00Z' },
  });
}

/** As the garbage collector does with the pods of a Job. */
export const dropPods = (kube: FakeKube): void => {
  for (const { metadata } of kube.objectsOf(pods)) {
    if (metadata.name !== 'c') kube.drop({ kind: pods, namespace, name: metadata.name });
  }
};

export async function buildTo({ kube, advance }: Cluster, digit: string): Promise<void> {
  await advance();
  endJob(kube, 'active');
  await advance(2);
  endJob(kube, { digest: digestOf(digit) });
  await advance();
  dropPods(kube);
}
