import * as z from 'zod';
import { osFailure } from './failures.ts';
import { jsonIn } from '../lib/json.ts';

/** What a registry says of an image. */
export interface RegistryImage {
  /** `sha256:…` of the manifest behind the name, or of the list of manifests. */
  readonly digest: string;
  /** As Go names it: amd64. */
  readonly architecture: string;
  /** Compressed layers with their sizes in bytes. */
  readonly layers: readonly { readonly digest: string; readonly bytes: number }[];
}

const Inspected = z.object({
  Digest: z.string(),
  Architecture: z.string(),
  LayersData: z.array(z.object({ Digest: z.string(), Size: z.number() })).nullish(),
});

/** Asks the registry what is behind a name, for the architecture of the host that asks. */
export const inspectArgv = (image: string, authFile?: string): readonly string[] => [
  ...['skopeo', 'inspect', '--no-tags'],
  ...(authFile === undefined ? [] : ['--authfile', authFile]),
  `docker://${image}`,
];

/**
 * Reads what `skopeo inspect` prints.
 * @throws AgentError `os.image-unreachable` when it is something else
 */
export function readInspected(stdout: string, image: string): RegistryImage {
  const parsed = Inspected.safeParse(jsonIn(stdout));
  if (!parsed.success) {
    throw osFailure('os.image-unreachable', `skopeo says nothing of ${image} that can be read`, {
      cause: parsed.error,
    });
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

/** Asks the registry for the manifest, or the list of manifests, as it is. */
export const rawManifestArgv = (image: string, authFile?: string): readonly string[] => [
  ...['skopeo', 'inspect', '--raw'],
  ...(authFile === undefined ? [] : ['--authfile', authFile]),
  `docker://${image}`,
];

/**
 * The digest of an architecture in a list of manifests, which is what a host reports of the image
 * that it pulled; undefined when the manifest is no list. `skopeo inspect` tells that of the list.
 */
export function digestInList(rawManifest: string, architecture: string): string | undefined {
  const parsed = ManifestList.safeParse(jsonIn(rawManifest));
  if (!parsed.success) return undefined;
  return parsed.data.manifests.find(
    ({ platform }) => platform?.architecture === architecture && platform.os === 'linux',
  )?.digest;
}

/** What skopeo says when a list of manifests has none for the host. */
export const lacksArchitecture = (stderr: string): boolean =>
  /no image found in (image index|manifest list) for architecture/.test(stderr);

/** The words of `uname -m` whose names differ in Go. */
const goNames: Readonly<Record<string, string>> = { x86_64: 'amd64', aarch64: 'arm64' };

/** The architecture of a host as Go names it. */
export const goArchitecture = (machine: string): string => goNames[machine] ?? machine;
