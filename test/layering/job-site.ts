import { expect } from 'vitest';
import { etcdCluster, etcdNamespace } from '../../src/cluster/etcd.ts';
import { pods } from '../../src/cluster/kinds.ts';
import type { LeftImage } from '../../src/layering/hand-over/hand-over.ts';
import type { Kube } from '../../src/ports/kube.ts';
import { handOverServed } from '../../src/steps/layering/hand-over.ts';
import { type FakeClock, fakeClock } from '../support/fake-clock.ts';
import { type FakeKube, fakeKube } from '../support/fake-kube.ts';
import { runStep } from '../support/run-step.ts';
import { bothFacts, bothHost, bothSite } from './both-pools.ts';
import { handedOver } from './hand-over-site.ts';

/** A cluster with both pools rendered, as the job finds it. */
export interface JobSite {
  readonly kube: FakeKube;
  readonly clock: FakeClock;
}

/** Both pools, and a healthy member of etcd on each of these masters. */
export function jobSite(masters: readonly string[] = ['m1', 'm2', 'm3']): JobSite {
  const kube = bothSite.reduce((made, [kind, object]) => made.put(kind, object), fakeKube());
  kube.put(etcdCluster.kind, { metadata: { name: 'cluster' } });
  for (const name of masters) {
    kube.put(pods, {
      metadata: { name: `etcd-${name}`, namespace: etcdNamespace, labels: { app: 'etcd' } },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
  }
  return { kube, clock: fakeClock() };
}

/** What the job runs a step with that has these images to hand over. */
export const jobIn = (
  { kube, clock }: { readonly kube: Kube; readonly clock: FakeClock },
  images: readonly LeftImage[],
) => ({
  kube,
  clock,
  facts: {
    record: { node: 'm3', addresses: [], role: 'master', isEtcdOverridden: false, images },
  },
});

/** Fails unless an image is handed over as the bootstrap host itself does it. */
export async function isHandedOver(kube: FakeKube, image: LeftImage): Promise<void> {
  byHost ??= handedOverByHost();
  const expected = withoutTimes(await handedOver(await byHost, image));
  expect(expected).toMatchObject([{ name: image.machineOSBuild }, { name: image.pool }]);
  expect(withoutTimes(await handedOver(kube, image))).toEqual(expected);
}

let byHost: Promise<FakeKube> | undefined;

async function handedOverByHost(): Promise<FakeKube> {
  const { kube, clock } = jobSite();
  await runStep(handOverServed, {
    config: { layering: { mode: 'on' } },
    facts: bothFacts('first-boot'),
    kube,
    clock,
    host: bothHost(),
  });
  return kube;
}

const times: readonly string[] = ['buildStart', 'buildEnd', 'lastTransitionTime'];

/** A job that waits for etcd comes later. */
const withoutTimes = (objects: unknown): unknown =>
  JSON.parse(JSON.stringify(objects), (key, value: unknown) =>
    times.includes(key) ? undefined : value,
  );
