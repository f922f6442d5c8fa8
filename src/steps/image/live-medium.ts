import type { Host } from '../../ports/host.ts';

/** Where the live system of CoreOS keeps what coreos-installer makes its image from. */
const offlineImages = '/run/coreos-installer/osmet';

/** Where the live medium is mounted, and where images lie on it. */
const mediumFolders = ['/run/media/iso', '/run/media/iso/images', '/run/media/iso/coreos'];

/** `rhcos-metal.x86_64.raw.gz`, `fedora-coreos-…-metal4k.x86_64.raw.xz`. */
const imageName = /\.raw(\.(gz|xz|zst))?$/i;

/** What the live medium has to install from. */
export type LiveImage =
  | { readonly kind: 'offline'; readonly because: string }
  | { readonly kind: 'file'; readonly path: string; readonly because: string };

/** The image file among names that fits a sector size, if there is one. */
export function imageAmong(names: readonly string[], sectorBytes: number): string | undefined {
  const images = names.filter((name) => imageName.test(name));
  const is4k = (name: string): boolean => /4k/i.test(name);
  return images.find((name) => is4k(name) === (sectorBytes === 4096));
}

/** Looks for an image on the live medium: one that coreos-installer finds by itself, or a file. */
export async function findLiveImage(
  host: Host,
  { sectorBytes, signal }: { readonly sectorBytes: number; readonly signal: AbortSignal },
): Promise<LiveImage | undefined> {
  const offline = await host.list(offlineImages, signal);
  if (offline.length > 0) {
    return { kind: 'offline', because: `the live medium carries ${offline.join(', ')}` };
  }
  for (const folder of mediumFolders) {
    const name = imageAmong(await host.list(folder, signal), sectorBytes);
    if (name !== undefined) {
      return { kind: 'file', path: `${folder}/${name}`, because: 'the live medium carries it' };
    }
  }
  return undefined;
}
