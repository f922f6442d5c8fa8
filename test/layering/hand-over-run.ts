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

/** The objects of the site, and more, in a cluster that is a fake. */
export const siteCluster = (...more: typeof site): FakeKube =>
  [...site, ...more].reduce((kube, [kind, object]) => kube.put(kind, object), fakeKube());

/** What a run of the hand-over is given. */
export const handOverTo = (kube: Kube, clock: Clock = fakeClock()) => ({
  config: handOverConfig,
  facts: handOverFacts,
  kube,
  host: handOverHost(),
  clock,
});

/** The MachineOSBuild that is in a cluster. */
export const buildIn = (kube: FakeKube): KubeObject | undefined =>
  kube.objectsOf(machineOSBuilds)[0];

/** Every death that can come with one of the writes of a run. */
export function* crashPointsOf(writes: number) {
  for (let write = 0; write < writes; write += 1) {
    for (const when of ['before', 'after'] as const) {
      yield { write, when, reported: `cut off ${when} write ${write}` };
    }
  }
}
