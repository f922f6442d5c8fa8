import { addressReadFrom } from '../lib/address.ts';
import { readImageName } from '../lib/image-name.ts';

/** A source of images and its mirrors: an entry of `imageDigestSources` of an install-config. */
export interface ImageMirrors {
  readonly source: string;
  /** In the order of the attempts; the source comes last. */
  readonly mirrors: readonly string[];
  /** With `NeverContactSource`, the source is never used. */
  readonly sourcePolicy?: (typeof sourcePolicies)[number];
}

/** Whether the source may be used (openshift/api, `MirrorSourcePolicy`). */
export const sourcePolicies = ['AllowContactingSource', 'NeverContactSource'] as const;

/**
 * Path of the mirrors' file on a live and an installed host. It sorts before others' files, which
 * win for the same source.
 */
export const mirrorsPath = '/etc/containers/registries.conf.d/00-bootwright-mirrors.conf';

/**
 * Mirrors for pulls by digest, in the form of containers-registries.conf(5); empty without mirrors.
 */
export const renderMirrors = (all: readonly ImageMirrors[]): string =>
  all
    .map(({ source, mirrors, sourcePolicy }) => {
      const places = mirrors.map(
        (mirror) => `\n[[registry.mirror]]\nlocation = ${JSON.stringify(mirror)}\n`,
      );
      // As in the Machine Config Operator (openshift/runtime-utils, `addMirrorSet`).
      const isBlocked =
        sourcePolicy === 'NeverContactSource' && mirrors.some((mirror) => mirror !== source);
      const blocked = isBlocked ? 'blocked = true\n' : '';
      // A basic string of TOML has JSON's escapes.
      return `[[registry]]\nprefix = ""\nlocation = ${JSON.stringify(source)}\nmirror-by-digest-only = true\n${blocked}${places.join('')}`;
    })
    .join('\n');

/**
 * Whether podman takes a name for a registry: without a dot or a port, it would be a path in
 * Docker's registry. Podman compares names byte by byte (containers/image, `sysregistriesv2`).
 */
const isPlace = (name: string): boolean => {
  const { host = '' } = readImageName(`${name}/x`) ?? {};
  const url = `https://${host}`;
  const isHost = /[.:]|^localhost$/.test(host) && URL.canParse(url);
  return isHost && addressReadFrom(url) === undefined && host === host.toLowerCase();
};

/**
 * The first name that is neither a valid source nor a valid mirror, or a repeated source, with the
 * fault.
 */
export function mirrorProblem(all: readonly ImageMirrors[]): string | undefined {
  const wrong = all.flatMap((one) => [one.source, ...one.mirrors]).find((name) => !isPlace(name));
  if (wrong !== undefined)
    return `${JSON.stringify(wrong)} is not HOST[:PORT][/PATH] in lower case, without a scheme, a tag and a digest`;
  const twice = all.find(({ source }, at) => all.findIndex((one) => one.source === source) !== at);
  return (
    twice && `${JSON.stringify(twice.source)} is there twice: name all its mirrors in one entry`
  );
}
