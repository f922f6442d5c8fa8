import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Manifest {
  readonly layers: readonly { readonly digest: string; readonly size: number }[];
}

interface Index {
  readonly manifests: readonly { readonly digest: string }[];
}

const partsOf = (pullSpec: string) => {
  const [, address = '', repository = '', digest = ''] =
    /^([^/]+)\/(.+)@(sha256:.+)$/.exec(pullSpec) ?? [];
  return { address, repository, digest };
};

/** Compressed bytes of the layers of an image in a registry without TLS that the image of an OCI layout has not. */
export async function newLayerBytes(pullSpec: string, layout: string): Promise<number> {
  const { address, repository, digest } = partsOf(pullSpec);
  const answer = await fetch(`http://${address}/v2/${repository}/manifests/${digest}`, {
    headers: { accept: 'application/vnd.oci.image.manifest.v1+json' },
  });
  const { layers } = (await answer.json()) as Manifest;
  const known = new Set(layersOf(layout));
  return layers
    .filter((layer) => !known.has(layer.digest))
    .reduce((sum, { size }) => sum + size, 0);
}

function layersOf(layout: string): readonly string[] {
  const read = <T>(...path: readonly string[]): T =>
    JSON.parse(readFileSync(join(layout, ...path), 'utf8')) as T;
  const [first] = read<Index>('index.json').manifests;
  const blob = (first?.digest ?? '').replace('sha256:', '');
  return read<Manifest>('blobs', 'sha256', blob).layers.map(({ digest }) => digest);
}

/**
 * Bytes that a registry gave out of the repository of an image: layers, manifests and configs. The log has a line in
 * the combined format of web servers for each request.
 */
export const pulledBytes = (log: string, pullSpec: string): number => {
  const begin = `"GET /v2/${partsOf(pullSpec).repository}/`;
  return log
    .split('\n')
    .filter((line) => line.includes(begin))
    .map((line) => Number(/" 20[06] (\d+) /.exec(line)?.[1] ?? 0))
    .reduce((sum, bytes) => sum + bytes, 0);
};
