/** Major, minor and patch of a release. */
export type ReleaseVersion = readonly [major: number, minor: number, patch: number];

/**
 * Reads the version of a release: the part after a `-` or `+` is ignored, and missing numbers are 0
 * (`4.15-rc.1` is 4.15.0). Undefined for a text that does not begin with two numbers.
 */
export function releaseVersion(text: string): ReleaseVersion | undefined {
  const parts = /^v?(\d+)\.(\d+)(?:\.(\d+))?(?=$|[-+.])/.exec(text.trim());
  if (parts === null) return undefined;
  const [, major, minor, patch = '0'] = parts;
  return [Number(major), Number(minor), Number(patch)];
}

/** Whether a release is `least` or later. */
export function isAtLeast(version: ReleaseVersion, least: ReleaseVersion): boolean {
  const [major, minor, patch] = version;
  if (major !== least[0]) return major > least[0];
  if (minor !== least[1]) return minor > least[1];
  return patch >= least[2];
}

/** Script of the installer on a bootstrap host that names the release. */
export const releaseScript = '/usr/local/bin/release-image.sh';

/** The pull spec of the release in that script; undefined when it names none. */
export const releaseImageIn = (script: string): string | undefined =>
  /^[ \t]*RELEASE_IMAGE_DIGEST="([^"$\s]+)"/m.exec(script)?.[1];

/** Prints the pull spec of one image of a release, as the scripts of the installer do. */
export const imageForArgv = (
  release: string,
  name: string,
  authFile: string,
): readonly string[] => [
  ...['podman', 'run', '--quiet', '--rm', '--net=none', '--authfile', authFile],
  ...[release, 'image', name],
];
