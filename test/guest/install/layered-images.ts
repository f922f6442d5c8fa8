import { type FailingImages, serveFailingImages } from './failing-images.ts';
import { letHostPullFrom, type LayeredImage, startGuestRegistry } from './guest-registry.ts';
import { layerCommands } from './layer-commands.ts';

/** The operating systems of the masters, in a registry that guests reach. */
export interface LayeredImages extends AsyncDisposable {
  /** What the cluster wants on its nodes; Lab CoreOS calls its layer `final`. */
  readonly final: LayeredImage;
  /** What a node is moved to; its layer is `second`. */
  readonly second: LayeredImage;
  /** The second one under another name, for a host that is installed into its running root. */
  readonly other: LayeredImage;
  /** What no host can get whole. */
  readonly failing: FailingImages;
  /** Bash that lets a host pull: its pull secret, and registries without TLS, which no word of the agent speaks of. */
  readonly before: string;
}

/**
 * Builds the images from a MachineOSConfig by `bootwright layer build` and `layer push`, on the system of the
 * release. The parts and the bundle must be there.
 */
export async function serveLayeredImages(folder: string): Promise<LayeredImages> {
  const registry = await startGuestRegistry(folder);
  const { build, push } = layerCommands(registry.work, await registry.pushRelease());
  await build('final');
  const final = await push('final');
  await build('second');
  const [second, other] = [await push('second'), await push('other')];
  const failing = await serveFailingImages(registry);
  return {
    final: await registry.served(final),
    second: await registry.served(second),
    other: await registry.served(other),
    failing,
    before: [registry.before, ...failing.places.map(letHostPullFrom)].join('\n'),
    async [Symbol.asyncDispose]() {
      await failing[Symbol.asyncDispose]();
      await registry[Symbol.asyncDispose]();
    },
  };
}
