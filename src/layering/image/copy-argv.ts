import { digestOf } from '../../lib/image-name.ts';

/** How a registry is reached. */
export interface RegistryAccess {
  readonly authFile?: string;
  /** Folder with certificates to trust beside those of the system. */
  readonly certificates?: string;
}

/** An image in a registry. */
export interface ImageAt extends RegistryAccess {
  /** File with settings of registries, their mirrors above all; those of this machine without it. */
  readonly registries?: string;
  /** HOST/PATH:TAG or HOST/PATH@DIGEST */
  readonly image: string;
}

/** Copies an image from one registry to another, byte by byte: its digests stay. */
export const copyImageArgv = ({
  from,
  to,
  digestFile,
}: {
  readonly from: ImageAt;
  readonly to: ImageAt;
  readonly digestFile?: string;
}): readonly string[] => [
  ...[...skopeo(from), 'copy', '--quiet', '--preserve-digests'],
  ...accessWords('src-', from),
  ...accessWords('dest-', to),
  ...(digestFile === undefined ? [] : ['--digestfile', digestFile]),
  `docker://${from.image}`,
  `docker://${to.image}`,
];

/** Prints the manifest, or the list of manifests, as the registry has it. */
export const rawArgv = (at: ImageAt): readonly string[] => [
  ...[...skopeo(at), 'inspect', '--raw'],
  ...accessWords('', at),
  `docker://${at.image}`,
];

/** Prints the digest that the registry has for a name. */
export const digestArgv = (at: ImageAt): readonly string[] => [
  ...[...skopeo(at), 'inspect', '--no-tags', '--format', '{{.Digest}}'],
  ...accessWords('', at),
  `docker://${at.image}`,
];

/** Prints the configuration of an image in a registry: its architecture and its labels. */
export const configArgv = (at: ImageAt): readonly string[] => [
  ...[...skopeo(at), 'inspect', '--config'],
  ...accessWords('', at),
  `docker://${at.image}`,
];

/** The variable that podman and buildah read is nothing to skopeo (seen with 1.9). */
const skopeo = ({ registries }: ImageAt): readonly string[] =>
  registries === undefined ? ['skopeo'] : ['skopeo', '--registries-conf', registries];

const accessWords = (
  prefix: '' | 'src-' | 'dest-',
  { authFile, certificates }: RegistryAccess,
): readonly string[] => [
  ...(authFile === undefined ? [] : [`--${prefix}authfile`, authFile]),
  ...(certificates === undefined ? [] : [`--${prefix}cert-dir`, certificates]),
];

/** The tag under which a base is kept beside what is built on it, so that its blobs stay. */
export function baseTag(image: string): string {
  const sum =
    digestOf(image)?.slice('sha256:'.length) ?? /:([^:/@]+)$/.exec(image)?.[1] ?? 'latest';
  return `base-${sum.slice(0, 32)}`;
}
