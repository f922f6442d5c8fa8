import { controllerPod, heldControllerConfig } from '../../layering/delivery/bootstrap-files.ts';
import { pinPath, pinText, renderingAnew, type Pin } from '../../layering/delivery/pin.ts';
import { minutes } from '../../model/duration.ts';
import { longestWait } from '../cluster/cluster-wait.ts';
import { step, type StepScope } from '../step.ts';
import { buildsOsImages } from './conditions.ts';
import {
  OsImageOrder,
  PinnedConfigs,
  type PublishedImage,
  PublishedImages,
  type RenderedConfig,
} from './facts.ts';
import { layeringStepFailure } from './failures.ts';
import { readRenderedConfigs, untilRendered } from './rendering.ts';
import { unlessPinned } from './skips.ts';

/**
 * Has the bootstrap controller render everything once more, with a MachineConfig among the manifests that names the
 * built image: up to 4.20 a node runs what its MachineConfig names, whatever its Ignition said. The masters are held
 * back meanwhile, and the files of the system are the same, so that the image is still right.
 */
export const pinImages = step({
  id: 'layering/pin-images',
  title: 'Render the MachineConfigs anew with the built image',
  uses: ['host'],
  needs: { order: OsImageOrder, published: PublishedImages },
  gives: PinnedConfigs,
  when: buildsOsImages,
  limit: longestWait + minutes(10),
  waitsFor: `${heldControllerConfig}, after the kubelet has made the pod of ${controllerPod} anew`,
  run: async (scope, { order, published }) => {
    if (published.kind === 'stock' || unlessPinned({ order, published }) !== undefined) return [];
    const { host, signal } = scope;
    const pins = published.images.map(({ pool, final }) => ({ pool, image: final }));
    for (const pin of pins) {
      await host.writeFile(pinPath(pin.pool), pinText(pin), { signal, mode: 0o644 });
    }
    await renderAnew(scope, pins);
    await untilRendered(scope, heldControllerConfig);
    const rendered = await readRenderedConfigs(
      scope,
      pins.map(({ pool }) => pool),
    );
    requirePinned(rendered, published.images);
    return rendered;
  },
});

/** What an earlier run has set going is waited for, not begun again. */
async function renderAnew(
  { host, signal }: StepScope<'host'>,
  pins: readonly Pin[],
): Promise<void> {
  const text = await host.readText(controllerPod, signal);
  if (text === undefined) {
    throw layeringStepFailure('layering.not-rendered', `there is no ${controllerPod}`);
  }
  const changed = renderingAnew({ path: controllerPod, text }, pins);
  if (changed === undefined) return;
  // What was rendered before must be gone before the pod begins: its coming back is what is waited for.
  await host.remove(heldControllerConfig, signal);
  await host.writeFile(controllerPod, changed, { signal, mode: 0o644 });
}

function requirePinned(
  rendered: readonly RenderedConfig[],
  images: readonly PublishedImage[],
): void {
  for (const { pool, name, osImage } of rendered) {
    const final = images.find((image) => image.pool === pool)?.final;
    if (osImage === final) continue;
    throw layeringStepFailure(
      'layering.not-rendered',
      `${name} names ${osImage}, although ${pinPath(pool)} names ${final ?? 'nothing'}`,
    );
  }
}
