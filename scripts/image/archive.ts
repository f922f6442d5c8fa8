import { execFile } from 'node:child_process';
import { mkdtempDisposableSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ContainerStore } from './agent-image.ts';

/** What an image may have packed, for each architecture. */
export const mostPackedBytes = 60e6;

/** An image as a registry would have it. */
export interface PackedImage {
  /** That of the manifest, or of the index where there are several images. */
  readonly digest: string;
  /** Bytes of the layers of each image, compressed by gzip: what a host gets over the network. */
  readonly bytes: readonly number[];
}

/**
 * Writes an image, or those of several architectures behind an index, as an OCI archive for `skopeo copy --all` and
 * `podman load`, which calls it by that name. The same images give the same file.
 */
export async function archiveImages(
  store: ContainerStore,
  images: readonly string[],
  { file, name }: { readonly file: string; readonly name: string },
): Promise<PackedImage> {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bootwright-archive-'));
  await pushInto(store, images, `oci:${folder.path}:${name}`);
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u+rwX,go=rX', '--mtime=@0'];
  const what = ['--create', '--file', file, '--directory', folder.path, '--sort=name', ...owner];
  await promisify(execFile)('tar', [...what, 'blobs', 'index.json', 'oci-layout']);
  return packedIn(folder.path);
}

async function pushInto(
  store: ContainerStore,
  images: readonly string[],
  layout: string,
): Promise<void> {
  const [only = '', ...more] = images;
  if (more.length === 0) {
    await store.run('buildah', 'push', '--format', 'oci', only, layout);
    return;
  }
  const list = `localhost/bootwright-index:${process.pid}`;
  await store.run('buildah', 'manifest', 'create', list);
  try {
    for (const image of images) await store.run('buildah', 'manifest', 'add', list, image);
    await store.run('buildah', 'manifest', 'push', '--all', '--format', 'oci', list, layout);
  } finally {
    await store.run('buildah', 'manifest', 'rm', list);
  }
}

/** A manifest or an index (opencontainers/image-spec). */
interface Manifest {
  readonly manifests?: readonly { readonly digest: string }[];
  readonly layers?: readonly { readonly size: number }[];
}

function packedIn(folder: string): PackedImage {
  const read = (path: string): Manifest =>
    JSON.parse(readFileSync(join(folder, path), 'utf8')) as Manifest;
  const blob = (digest: string): Manifest => read(`blobs/${digest.replace(':', '/')}`);
  const bytesOf = ({ manifests, layers = [] }: Manifest): readonly number[] =>
    manifests === undefined
      ? [layers.reduce((sum, { size }) => sum + size, 0)]
      : manifests.flatMap(({ digest }) => bytesOf(blob(digest)));
  const digest = read('index.json').manifests?.[0]?.digest ?? '';
  return { digest, bytes: bytesOf(blob(digest)) };
}
