import { readImageName } from './image-name.ts';

/**
 * What images are pulled from in place of a source: an entry of `imageDigestSources` of an
 * install-config.
 */
export interface ImageMirrors {
  readonly source: string;
  /** In the order in which they are tried; the source comes last. */
  readonly mirrors: readonly string[];
  /** With the second, the source is never asked. */
  readonly sourcePolicy?: (typeof sourcePolicies)[number];
}

/** What becomes of a source (openshift/api, `MirrorSourcePolicy`). */
export const sourcePolicies = ['AllowContactingSource', 'NeverContactSource'] as const;

/**
 * Where a live and an installed host have mirrors: before what others put beside it, which wins for
 * the same source.
 */
export const mirrorsPath = '/etc/containers/registries.conf.d/00-bootwright-mirrors.conf';

/**
 * Mirrors of what is pulled by digest, as containers-registries.conf(5) has them; empty without
 * mirrors.
 */
export const renderMirrors = (all: readonly ImageMirrors[]): string =>
  all
    .map(({ source, mirrors, sourcePolicy }) => {
      const places = mirrors.map(
        (mirror) => `\n[[registry.mirror]]\nlocation = ${JSON.stringify(mirror)}\n`,
      );
      // As the Machine Config Operator does it (openshift/runtime-utils, `addMirrorSet`).
      const isBlocked =
        sourcePolicy === 'NeverContactSource' && mirrors.some((mirror) => mirror !== source);
      const blocked = isBlocked ? 'blocked = true\n' : '';
      // The escapes of a basic string of TOML are those of JSON.
      return `[[registry]]\nprefix = ""\nlocation = ${JSON.stringify(source)}\nmirror-by-digest-only = true\n${blocked}${places.join('')}`;
    })
    .join('\n');

/**
 * Whether podman finds a registry by a name: one without a dot and a port would be a path of
 * Docker's registry, and names are compared letter by letter (containers/image, `sysregistriesv2`).
 */
const isPlace = (name: string): boolean => {
  const { host = '' } = readImageName(`${name}/x`) ?? {};
  const isHost = /[.:]|^localhost$/.test(host) && URL.canParse(`https://${host}`);
  return isHost && host === host.toLowerCase();
};

/**
 * The first name that is no source and no mirror, or is a source twice, with what is wrong with it.
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
