import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** A layer on top of an operating system. */
interface Layer {
  /** Tag of the resulting image. */
  readonly tag: string;
  /** Files by their path in the image, with their size in bytes; the content is zeros. */
  readonly files: Readonly<Record<string, number>>;
  /** Texts by their path in the image. */
  readonly texts?: Readonly<Record<string, string>>;
  /** Scripts by their path in the image. */
  readonly programs?: Readonly<Record<string, string>>;
  /** Incompressible bytes in a file of their own: the minimum size of a pull of the layer. */
  readonly ballast?: number;
  /** Architecture by its name in Go, if the image is to declare another one. */
  readonly architecture?: string;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

interface ImageConfig {
  readonly architecture: string;
  readonly rootfs: { readonly type: string; readonly diff_ids: readonly string[] };
  readonly history?: readonly object[];
}

/**
 * Creates OCI layouts of images with one layer more than the image of another layout, as a build
 * from a Containerfile does: the blobs of the base are the same, byte for byte.
 * @returns `FOLDER:TAG`, the notation of skopeo
 */
export function addLayer(base: string, folder: string, layer: Layer): string {
  const layout = join(folder, layer.tag);
  const blobs = join(layout, 'blobs', 'sha256');
  mkdirSync(blobs, { recursive: true });
  for (const name of readdirSync(join(base, 'blobs', 'sha256')))
    symlinkSync(join(base, 'blobs', 'sha256', name), join(blobs, name));
  writeFileSync(join(layout, 'oci-layout'), readFileSync(join(base, 'oci-layout')));
  const [first] = readJson<{ manifests: readonly Descriptor[] }>(
    join(base, 'index.json'),
  ).manifests;
  const manifest = readBlob<Manifest>(blobs, first?.digest ?? '');
  const config = readBlob<ImageConfig>(blobs, manifest.config.digest);
  const packed = packFiles(folder, layer);
  const added = putBlob(blobs, packed, 'application/vnd.oci.image.layer.v1.tar+gzip');
  const diffId = digestOf(gunzipSync(packed));
  const newConfig = {
    ...config,
    architecture: layer.architecture ?? config.architecture,
    rootfs: { ...config.rootfs, diff_ids: [...config.rootfs.diff_ids, diffId] },
    history: [...(config.history ?? []), { created_by: `COPY ${layer.tag}` }],
  };
  const newManifest = {
    ...manifest,
    config: putJson(blobs, newConfig, manifest.config.mediaType),
    layers: [...manifest.layers, added],
  };
  const top = putJson(blobs, newManifest, first?.mediaType ?? '');
  const annotations = { 'org.opencontainers.image.ref.name': layer.tag };
  const index = { schemaVersion: 2, manifests: [{ ...top, annotations }] };
  writeFileSync(join(layout, 'index.json'), JSON.stringify(index));
  return `${layout}:${layer.tag}`;
}

function packFiles(
  folder: string,
  { tag, files, texts = {}, programs = {}, ballast = 0 }: Layer,
): Buffer {
  const content = join(folder, `${tag}.content`);
  for (const [path, bytes] of Object.entries(files)) {
    mkdirSync(join(content, path, '..'), { recursive: true });
    writeFileSync(join(content, path), '');
    execFileSync('truncate', ['-s', String(bytes), join(content, path)]);
  }
  for (const [path, text] of Object.entries({ ...texts, ...programs })) {
    mkdirSync(join(content, path, '..'), { recursive: true });
    writeFileSync(join(content, path), text, { mode: path in programs ? 0o755 : 0o644 });
  }
  if (ballast > 0) {
    mkdirSync(join(content, 'usr/share'), { recursive: true });
    writeFileSync(join(content, 'usr/share/ballast'), randomBytes(ballast));
  }
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX'];
  const argv = ['--gzip', ...owner, '-C', content, '-cf', '-', ...readdirSync(content)];
  return execFileSync('tar', argv, { maxBuffer: 64 * 1024 ** 2 });
}

const digestOf = (bytes: Uint8Array): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

function putBlob(blobs: string, bytes: Uint8Array, mediaType: string): Descriptor {
  const digest = digestOf(bytes);
  writeFileSync(join(blobs, digest.slice('sha256:'.length)), bytes);
  return { mediaType, digest, size: bytes.length };
}

const putJson = (blobs: string, value: object, mediaType: string): Descriptor =>
  putBlob(blobs, Buffer.from(JSON.stringify(value)), mediaType);

const readBlob = <T>(blobs: string, digest: string): T =>
  readJson<T>(join(blobs, digest.slice('sha256:'.length)));

const readJson = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8')) as T;
