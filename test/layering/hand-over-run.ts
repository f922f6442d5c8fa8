import { machineOSBuilds } from '../../src/kube/kinds.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Kube, KubeObject } from '../../src/ports/kube.ts';
import { fakeClock } from '../support/fake-clock.ts';
import { fakeKube, type FakeKube } from '../support/fake-kube.ts';
import { handOverFacts, handOverHost, site } from './hand-over-site.ts';

/** The settings of a bootstrap host that hands images over. */
export const handOverConfig = { role: 'bootstrap', layering: { mode: 'on' } } as const;

/** A label or an annotation of the Machine Config Operator. */
export const key = (name: string): string => `machineconfiguration.openshift.io/${name}`;

/** A fake cluster with the objects of the site, and more. */
export const siteCluster = (...more: typeof site): FakeKube =>
  [...site, ...more].reduce((kube, [kind, object]) => kube.put(kind, object), fakeKube());

/** Inputs of a run of the hand-over. */
export const handOverTo = (kube: Kube, clock: Clock = fakeClock()) => ({
  config: handOverConfig,
  facts: handOverFacts,
  kube,
  host: handOverHost(),
  clock,
});

/** A cluster that accepts the statuses of a kind, and does not keep them. */
export const withoutStatuses = (kube: Kube, plural: string): Kube => ({
  ...kube,
  patch: (ref, patch, signal) =>
    ref.kind.plural === plural && patch.subresource === 'status'
      ? Promise.resolve({ metadata: { name: ref.name } })
      : kube.patch(ref, patch, signal),
});

/** The MachineOSBuild in a cluster. */
export const buildIn = (kube: FakeKube): KubeObject | undefined =>
  kube.objectsOf(machineOSBuilds)[0];

/** All crash points of a run: before and after each of its writes. */
export function* crashPointsOf(writes: number) {
  for (let write = 0; write < writes; write += 1) {
    for (const when of ['before', 'after'] as const) {
      yield { write, when, reported: `cut off ${when} write ${write}` };
    }
  }
}
