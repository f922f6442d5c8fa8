/** Paths in the container. */
export const inContainer = {
  data: '/var/lib/registry',
  served: '/etc/bootwright-registry',
} as const;

/**
 * The address of the registry. Nodes pull from the final registry only, so that no other host
 * needs a route to this one, nor a hole in its firewall.
 */
export const stagingAddress = (port: number): string => `127.0.0.1:${port}`;

/**
 * Settings of the registry (distribution), as JSON, which is YAML too.
 * @param data folder as the registry sees it
 * @param served the same, with its certificate and the hashed password
 */
export const registrySettings = (
  port: number,
  data: string = inContainer.data,
  served: string = inContainer.served,
): string =>
  JSON.stringify({
    version: '0.1',
    log: { level: 'info', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: data } },
    http: {
      addr: stagingAddress(port),
      tls: { certificate: `${served}/tls.crt`, key: `${served}/tls.key` },
    },
    auth: { htpasswd: { realm: 'bootwright', path: `${served}/htpasswd` } },
  });

/** Folder of certificates and credentials on the live system, which the reboot discards. */
export const secretsFolder = '/opt/bootwright-layering';

const mount = '/run/bootwright/staging';
const work = `${mount}/ostree/deploy/rhcos/var/lib/bootwright-layering`;

/** Folders on the written disk: images are larger than the memory of a live system. */
export const stagingPlaces = {
  /** Where the root file system of the written disk stays mounted while images are built. */
  mount,
  /** All that layering puts on the written disk; removed before the host reboots. */
  work,
  data: `${work}/registry`,
  /** Where images are built. Sockets lie in the run folder; their paths are short. */
  store: { storage: `${work}/storage`, run: '/run/bootwright/storage' },
  /** Contexts of the builds, and what programs keep meanwhile. */
  scratch: `${work}/scratch`,
} as const;

/** Files below the folder of secrets. */
export const stagingFiles = {
  /** Folder that the container sees: settings, its certificate and the hashed password. */
  served: `${secretsFolder}/registry`,
  settings: `${secretsFolder}/registry/settings.yml`,
  passwords: `${secretsFolder}/registry/htpasswd`,
  /** Folder with `ca.crt` alone, as clients want it. */
  certificates: `${secretsFolder}/certificates`,
  authFile: `${secretsFolder}/staging-auth.json`,
  /** The same for curl. */
  curl: `${secretsFolder}/staging-curl`,
  /** The address, so that a later run keeps it. */
  address: `${secretsFolder}/address`,
} as const;

/** The container of the staging registry. */
export const registryContainer = 'bootwright-registry';

/** The image of a release that holds a registry. */
export const registryOfRelease = 'docker-registry';

/**
 * Starts the registry, and replaces an earlier container. The image of a release has the plain
 * registry beside that of a cluster since 4.21 (openshift/appliance runs it in the same way), whose
 * entrypoint starts that of a cluster. Nothing is relabelled, as the data lies on a disk whose
 * labels are those of another system.
 */
export const runRegistryArgv = (
  image: string,
  isOfRelease: boolean,
  authFile: string,
): readonly string[] => [
  ...['podman', 'run', '--detach', '--replace', '--name', registryContainer],
  ...['--net', 'host', '--http-proxy=false', '--user', '0', '--security-opt', 'label=disable'],
  ...['--restart', 'on-failure', '--log-driver', 'journald', '--authfile', authFile],
  ...['--volume', `${stagingPlaces.data}:${inContainer.data}`],
  ...['--volume', `${stagingFiles.served}:${inContainer.served}:ro`],
  ...(isOfRelease ? ['--entrypoint', '/usr/bin/distribution'] : []),
  ...[image, 'serve', `${inContainer.served}/settings.yml`],
];

/** Starts the container again after it ended; nothing when it runs. */
export const startAgainArgv = ['podman', 'start', registryContainer] as const;

/** Stops the registry and removes its container; nothing when there is none. */
export const removeRegistryArgv = [
  ...['podman', 'rm', '--force', '--ignore', '--time', '10', registryContainer],
] as const;

/** Prints the status of the registry's answer to the one user that it knows: 200. */
export const answerArgv = (address: string): readonly string[] => [
  ...['curl', '--silent', '--output', '/dev/null', '--write-out', '%{http_code}'],
  ...['--max-time', '10', '--noproxy', '*', '--cacert', `${stagingFiles.certificates}/ca.crt`],
  ...['--config', stagingFiles.curl, `https://${address}/v2/`],
];

/** Makes a certificate of the registry that nobody else has signed, and its key. */
export const certificateArgv = (folder: string): readonly string[] => [
  ...['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
  ...['-subj', '/CN=bootwright staging registry', '-days', '30'],
  ...['-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'],
  ...['-keyout', `${folder}/tls.key`, '-out', `${folder}/tls.crt`],
];
