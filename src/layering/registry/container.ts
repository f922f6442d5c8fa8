import { inContainer } from './settings.ts';

/** The container of the staging registry. */
export const registryContainer = 'bootwright-registry';

/** Script of the installer on a bootstrap host that names the release. */
export const releaseScript = '/usr/local/bin/release-image.sh';

/** The pull spec of the release in that script; undefined when it names none. */
export const releaseImageIn = (script: string): string | undefined =>
  /^\s*RELEASE_IMAGE_DIGEST="([^"$\s]+)"/m.exec(script)?.[1];

/** Asks a release for the pull spec of one of its images, as the scripts of the installer do. */
export const imageForArgv = (
  release: string,
  name: string,
  authFile: string,
): readonly string[] => [
  ...['podman', 'run', '--quiet', '--rm', '--net=none', '--authfile', authFile],
  ...[release, 'image', name],
];

/** The image of a release that holds a registry. */
export const registryOfRelease = 'docker-registry';

/** What the container is started with. */
export interface RegistryRun {
  readonly image: string;
  /** The image is that of a release: its own start is that of a cluster's registry. */
  readonly isOfRelease: boolean;
  /** Folders of the host. */
  readonly data: string;
  readonly served: string;
  readonly authFile: string;
}

/**
 * Starts the registry in place of an earlier one. The image of a release holds the plain registry beside that of a
 * cluster since 4.21 (openshift/appliance runs it in the same way). Nothing is relabelled, as the data lies on a
 * disk whose labels are those of another system.
 */
export const runRegistryArgv = (run: RegistryRun): readonly string[] => [
  ...['podman', 'run', '--detach', '--replace', '--name', registryContainer],
  ...['--net', 'host', '--http-proxy=false', '--user', '0', '--security-opt', 'label=disable'],
  ...['--restart', 'on-failure', '--log-driver', 'journald', '--authfile', run.authFile],
  ...['--volume', `${run.data}:${inContainer.data}`],
  ...['--volume', `${run.served}:${inContainer.served}:ro`],
  ...(run.isOfRelease ? ['--entrypoint', '/usr/bin/distribution'] : []),
  ...[run.image, 'serve', `${inContainer.served}/settings.yml`],
];

/** Starts the container again after it ended; nothing when it runs. */
export const startAgainArgv = ['podman', 'start', registryContainer] as const;

/** Stops the registry and removes its container; nothing when there is none. */
export const removeRegistryArgv = [
  'podman',
  'rm',
  '--force',
  '--ignore',
  '--time',
  '10',
  registryContainer,
] as const;

/** Prints the status by which a registry answers: 401 without credentials, 200 with them. */
export const answerArgv = (
  address: string,
  options: { readonly certificates: string; readonly credentials?: string },
): readonly string[] => [
  ...['curl', '--silent', '--output', '/dev/null', '--write-out', '%{http_code}'],
  ...['--max-time', '10', '--noproxy', '*', '--cacert', `${options.certificates}/ca.crt`],
  ...(options.credentials === undefined ? [] : ['--config', options.credentials]),
  `https://${address}/v2/`,
];
