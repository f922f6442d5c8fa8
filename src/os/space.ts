import type { RegistryImage } from './registry-image.ts';

/** Prints the free bytes of the file system that deployments lie on. */
export const freeSpaceArgv = ['df', '--output=avail', '--block-size=1', '/sysroot'] as const;

/** Prints the layers that the host has, by the digests of their compressed blobs. */
export const layersArgv = [
  ...['ostree', 'refs', '--repo=/ostree/repo', '--list', 'ostree/container/blob'],
] as const;

/** The number that `df` prints below its heading. */
export function readFreeBytes(stdout: string): number | undefined {
  const last = stdout.trim().split('\n').at(-1)?.trim() ?? '';
  return /^\d+$/.test(last) ? Number(last) : undefined;
}

/** Digests in refs of ostree-rs-ext: `ostree/container/blob/sha256_3A_HEX` means `sha256:HEX`. */
export const readLayers = (stdout: string): ReadonlySet<string> =>
  new Set(
    stdout
      .split('\n')
      .map((line) => line.trim().split('/').at(-1) ?? '')
      .filter((name) => name.startsWith('sha256_3A_'))
      .map((name) => `sha256:${name.slice('sha256_3A_'.length)}`),
  );

/** Compressed bytes that have to be pulled. */
export const missingBytes = (
  { layers }: Pick<RegistryImage, 'layers'>,
  present: ReadonlySet<string>,
): number =>
  layers.filter(({ digest }) => !present.has(digest)).reduce((sum, { bytes }) => sum + bytes, 0);

/** A compressed layer takes so many times its size on disk at most: Lab CoreOS takes 2.1 times. */
const growth = 3;

/** ostree itself keeps 500 MB free (`min-free-space-size`); the deployment's own files come on top. */
const reserve = 600 * 1024 * 1024;

/** Free bytes that a pull needs before it is begun. */
export const neededBytes = (missing: number): number => missing * growth + reserve;
