import { machineConfigs } from '../../cluster/kinds.ts';
import type { Look } from '../../engine/wait.ts';
import { pinName, pinObject } from '../../layering/delivery/pin.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { followed, gapIn } from '../cluster/cluster-wait.ts';
import { step, type StepScope } from '../step.ts';
import { buildsOsImages } from './conditions.ts';
import { OsImageOrder, PinnedConfigs } from './facts.ts';
import { createUnlessThere, requireKept } from './hand-over-objects.ts';
import { unlessOrdered } from './skips.ts';

/** The temporary API server needs no other host, so that it is there before an image is built, or never. */
const longestWait = hours(1);

/**
 * Gives the cluster the MachineConfigs that were added on this host, while no master has begun: their controllers
 * then render what the masters are served, under the same name. A node whose rendered MachineConfig the cluster does
 * not know is degraded from its first minute.
 */
export const submitPins = step({
  id: 'layering/submit-pins',
  title: 'Give the cluster the MachineConfigs that name the built images',
  uses: ['kube'],
  needs: { order: OsImageOrder, pinned: PinnedConfigs },
  when: buildsOsImages,
  skipIf: ({ order, pinned }) =>
    unlessOrdered({ order }) ??
    (pinned.length === 0 ? 'no MachineConfig names an image' : undefined),
  retry: { attempts: 10, every: seconds(15) },
  limit: longestWait + minutes(10),
  waitsFor: 'the temporary API server to take MachineConfigs',
  run: async (scope, { pinned }) => {
    await untilTaken(scope);
    for (const { pool, osImage } of pinned) {
      const ref = { kind: machineConfigs, name: pinName(pool) };
      const object = pinObject({ pool, image: osImage });
      await createUnlessThere(scope, ref, object as unknown as KubeObject);
      await requireKept(scope, ref, { spec: { osImageURL: osImage } });
      scope.note(
        'warn',
        `MachineConfig ${ref.name} keeps pool ${pool} at its image: delete it before the cluster moves to another release`,
        { image: osImage },
      );
    }
  },
});

async function untilTaken({ kube, until }: StepScope<'kube'>): Promise<void> {
  const { view, watch } = followed(kube, { kind: machineConfigs });
  const look = (): Promise<Look<true>> => {
    const gap = gapIn(view());
    return Promise.resolve(gap === undefined ? { done: true } : { status: gap });
  };
  await until('the API server takes MachineConfigs', look, {
    watch,
    every: seconds(30),
    within: longestWait,
  });
}
