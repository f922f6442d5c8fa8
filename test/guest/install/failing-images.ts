import { join } from 'node:path';
import { osImage } from '../../../scripts/parts/os-image.ts';
import { partFolder } from '../../../scripts/parts/part.ts';
import { addLayer } from '../../installer/layered-image.ts';
import { breakAfter, type BrokenWay } from '../rig/broken-way.ts';
import type { GuestRegistry } from './guest-registry.ts';
import { gateway } from './outside.ts';

const mebibyte = 1024 ** 2;
const repository = 'failing/labcoreos';

/** Operating systems that no host can get whole: pull specs with their digests, as guests reach them. */
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

/** Pushes them to a registry, whose parts must be there. Each of the ways fails once: a host of its own may go it. */
export async function serveFailingImages(registry: GuestRegistry): Promise<FailingImages> {
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
