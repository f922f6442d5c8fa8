import { expect } from 'vitest';
import { etcdCluster, etcdNamespace } from '../../src/cluster/etcd.ts';
import { pods } from '../../src/cluster/kinds.ts';
import type { LeftImage } from '../../src/layering/hand-over/hand-over.ts';
import { hours } from '../../src/model/duration.ts';
import { handOverServed } from '../../src/steps/layering/hand-over.ts';
import { handOverLeft } from '../../src/steps/layering/hand-over-left.ts';
import { step } from '../../src/steps/step.ts';
import { type FakeClock, fakeClock } from '../support/fake-clock.ts';
import { type FakeKube, fakeKube } from '../support/fake-kube.ts';
import { runStep } from '../support/run-step.ts';
import { bothFacts, bothHost, bothSite } from './both-pools.ts';
import { handedOver } from './hand-over-site.ts';

/** A cluster with both pools rendered, as the controller finds it. */
export interface LeftSite {
  readonly kube: FakeKube;
  readonly clock: FakeClock;
}

/** Both pools, and a healthy member of etcd on each of these masters. */
export function leftSite(masters: readonly string[] = ['m1', 'm2', 'm3']): LeftSite {
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

/** What the controller hands over, as a step of its own. */
export const handOverStep = (images: readonly LeftImage[]) =>
  step({
    id: 'test/hand-over-left',
    title: 'Hand over what was left',
    uses: ['kube', 'clock'],
    limit: hours(30),
    run: (scope) => handOverLeft(scope, images, () => Promise.resolve()),
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
  const { kube, clock } = leftSite();
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

/** A controller that waits for etcd comes later. */
const withoutTimes = (objects: unknown): unknown =>
  JSON.parse(JSON.stringify(objects), (key, value: unknown) =>
    times.includes(key) ? undefined : value,
  );
