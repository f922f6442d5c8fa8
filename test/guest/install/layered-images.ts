import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { osImage } from '../../../scripts/parts/scripted.ts';
import { partFolder } from '../../../scripts/parts/part.ts';
import { addLayer } from '../../installer/layered-image.ts';
import { breakAfter, type BrokenWay } from '../rig/broken-way.ts';
import {
  type GuestRegistry,
  type LayeredImage,
  letHostPullFrom,
  startGuestRegistry,
} from './guest-registry.ts';
import { layerCommands } from './layer-commands.ts';
import { gateway } from './outside.ts';

/** The operating systems of the masters, in a registry that guests reach. */
export interface LayeredImages extends AsyncDisposable {
  /** The image that the cluster wants on its nodes; Lab CoreOS calls its layer `final`. */
  readonly final: LayeredImage;
  /** The image that a node changes to; its layer is `second`. */
  readonly second: LayeredImage;
  /** The second one under another name, for a host that is installed into its running root. */
  readonly other: LayeredImage;
  /** An image that no host can pull whole. */
  readonly failing: FailingImages;
  /**
   * Bash that lets a host pull: its pull secret, and registries without TLS, which no word of the
   * agent speaks of.
   */
  readonly before: string;
}

/**
 * Builds the images from a MachineOSConfig by `bootwright layer build`, on the system of the
 * release. The parts and the bundle must be there.
 */
export async function serveLayeredImages(folder: string): Promise<LayeredImages> {
  const registry = await startGuestRegistry(folder);
  const { push } = layerCommands(registry.work, await registry.pushRelease());
  const [final, second] = [await push('final'), await push('second')];
  const other = await copied(second, 'other');
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

/** Copies an image of the registry to another name beside its own, and gives the pull spec. */
async function copied(pullSpec: string, name: string): Promise<string> {
  const other = pullSpec.replace(/[^/]+(?=@)/, name);
  const plain = ['--preserve-digests', '--src-tls-verify=false', '--dest-tls-verify=false'];
  const [from, to] = [pullSpec, other.replace(/@.*$/, ':latest')].map((one) => `docker://${one}`);
  await run('skopeo', ['copy', '--quiet', ...plain, from ?? '', to ?? '']);
  return other;
}

const run = promisify(execFile);

const mebibyte = 1024 ** 2;
const repository = 'failing/labcoreos';

/**
 * Operating systems that no host can get whole: pull specs with their digests, as guests reach
 * them.
 */
export interface FailingImages extends AsyncDisposable {
  /** Is for another architecture. */
  readonly foreign: string;
  /** Nothing is wrong with it, where there is room. */
  readonly sound: string;
  /** The sound one; each connection is cut in the middle of it. */
  readonly cut: string;
  /** The sound one; its registry is gone from the middle of it on. */
  readonly dying: string;
  /** HOST:PORT of the two ways that fail, as guests reach them. */
  readonly places: readonly string[];
}

/**
 * Pushes them to a registry, whose parts must be there. Each of the ways fails once: a host of its
 * own may go it.
 */
async function serveFailingImages(registry: GuestRegistry): Promise<FailingImages> {
  const base = join(partFolder(osImage), 'oci');
  const push = async (tag: string, layer: object): Promise<string> => {
    const layout = addLayer(base, registry.work, { tag, files: {}, ...layer });
    return `${repository}@${await registry.push(layout, `${repository}:${tag}`)}`;
  };
  const foreign = await push('foreign', { architecture: 'riscv64', ballast: 1 });
  const sound = await push('sound', { ballast: 16 * mebibyte });
  const ways = [false, true].map((dies) => breakAfter(registry.address, 4 * mebibyte, { dies }));
  const [cut, dying] = (await Promise.all(ways)) as [BrokenWay, BrokenWay];
  const placeOf = ({ address }: { readonly address: string }): string =>
    address.replace('127.0.0.1', gateway);
  return {
    foreign: `${placeOf(registry)}/${foreign}`,
    sound: `${placeOf(registry)}/${sound}`,
    cut: `${placeOf(cut)}/${sound}`,
    dying: `${placeOf(dying)}/${sound}`,
    places: [placeOf(cut), placeOf(dying)],
    async [Symbol.asyncDispose]() {
      await cut[Symbol.asyncDispose]();
      await dying[Symbol.asyncDispose]();
    },
  };
}
