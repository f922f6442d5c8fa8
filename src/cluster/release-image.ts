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
