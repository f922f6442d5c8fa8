import * as z from 'zod';
import { type ImageName, readImageName } from '../lib/image-name.ts';
import { jsonIn } from '../lib/json.ts';
import { osFailure } from './failures.ts';

/** The properties of an image in a registry. */
export interface RegistryImage {
  /** `sha256:…` of the manifest behind the name, or of the list of manifests. */
  readonly digest: string;
  /** Architecture by its name in Go: amd64. */
  readonly architecture: string;
  /** Compressed layers with their sizes in bytes. */
  readonly layers: readonly { readonly digest: string; readonly bytes: number }[];
}

const Inspected = z.object({
  Digest: z.string(),
  Architecture: z.string(),
  LayersData: z.array(z.object({ Digest: z.string(), Size: z.number() })).nullish(),
});

/** Asks the registry for the image behind a name, for the architecture of the host. */
export const inspectArgv = (image: string, authFile?: string): readonly string[] => [
  ...['skopeo', 'inspect', '--no-tags'],
  ...(authFile === undefined ? [] : ['--authfile', authFile]),
  `docker://${image}`,
];

/**
 * Reads the output of `skopeo inspect`.
 * @throws AgentError `os.image-unreachable` if it is something else
 */
export function readInspected(stdout: string, image: string): RegistryImage {
  const parsed = Inspected.safeParse(jsonIn(stdout));
  if (!parsed.success) {
    const what = `skopeo printed no readable configuration of ${image}`;
    throw osFailure('os.image-unreachable', what, { cause: parsed.error });
  }
  const { Digest, Architecture, LayersData } = parsed.data;
  return {
    digest: Digest,
    architecture: Architecture,
    layers: (LayersData ?? []).map((layer) => ({ digest: layer.Digest, bytes: layer.Size })),
  };
}

const ManifestList = z.object({
  manifests: z.array(
    z.object({
      digest: z.string(),
      platform: z.object({ architecture: z.string(), os: z.string() }).optional(),
    }),
  ),
});

/** Asks the registry for the raw manifest or manifest list. */
export const rawManifestArgv = (image: string, authFile?: string): readonly string[] => [
  ...['skopeo', 'inspect', '--raw'],
  ...(authFile === undefined ? [] : ['--authfile', authFile]),
  `docker://${image}`,
];

/**
 * The digest of the manifest for an architecture in a manifest list; undefined if the manifest is
 * not a list. The host reports this digest for a pulled image; `skopeo inspect` prints the digest
 * of the list.
 */
export function digestInList(rawManifest: string, architecture: string): string | undefined {
  const parsed = ManifestList.safeParse(jsonIn(rawManifest));
  if (!parsed.success) return undefined;
  return parsed.data.manifests.find(
    ({ platform }) => platform?.architecture === architecture && platform.os === 'linux',
  )?.digest;
}

/** Whether skopeo reports that a manifest list has no manifest for the host. */
export const lacksArchitecture = (stderr: string): boolean =>
  /no image found in (image index|manifest list) for architecture/.test(stderr);

/** Architectures by their name in Go, where `uname -m` has another. */
const goNames: Readonly<Record<string, string>> = { x86_64: 'amd64', aarch64: 'arm64' };

/** The architecture of a host by its name in Go. */
export const goArchitecture = (machine: string): string => goNames[machine] ?? machine;

/** Prints the layers on the host, by the digests of their compressed blobs. */
export const layersArgv = [
  ...['ostree', 'refs', '--repo=/ostree/repo', '--list', 'ostree/container/blob'],
] as const;

/** Digests in refs of ostree-rs-ext: `ostree/container/blob/sha256_3A_HEX` means `sha256:HEX`. */
export const readLayers = (stdout: string): ReadonlySet<string> =>
  new Set(
    stdout
      .split('\n')
      .map((line) => line.trim().split('/').at(-1) ?? '')
      .filter((name) => name.startsWith('sha256_3A_'))
      .map((name) => `sha256:${name.slice('sha256_3A_'.length)}`),
  );

/** Compressed bytes of the layers that the host does not have. */
export const missingBytes = (
  { layers }: Pick<RegistryImage, 'layers'>,
  present: ReadonlySet<string>,
): number =>
  layers.filter(({ digest }) => !present.has(digest)).reduce((sum, { bytes }) => sum + bytes, 0);

/**
 * Reads the name of an image that a node can switch to, `HOST/PATH:TAG` or
 * `HOST/PATH@sha256:DIGEST`. A name without a host means another image on
 * each host. One without tag and digest is `latest` to some programs and an error to others. skopeo
 * refuses a name with both.
 * @throws AgentError `os.bad-image-name`
 */
export function parseImageName(text: string): ImageName {
  const name = readImageName(text);
  if (name === undefined || !/^(?:sha256:[0-9a-f]{64})?$/.test(name.digest ?? '')) {
    throw bad(text, 'is not the name of an image in a registry');
  }
  const { host = '', tag, digest } = name;
  if (!/[.:]/.test(host) && host !== 'localhost') throw bad(text, 'names no registry');
  if (tag === undefined && digest === undefined) throw bad(text, 'has neither tag nor digest');
  if (tag !== undefined && digest !== undefined) throw bad(text, 'has both a tag and a digest');
  return name;
}

const bad = (text: string, why: string): Error =>
  osFailure('os.bad-image-name', `${JSON.stringify(text)} ${why}`, { context: { image: text } });
