/** Paths in the container. */
export const inContainer = {
  data: '/var/lib/registry',
  served: '/etc/bootwright-registry',
} as const;

/**
 * The address of the registry. Nodes pull from the final registry only, so no other host needs a
 * route or a firewall rule to this one.
 */
export const stagingAddress = (port: number): string => `127.0.0.1:${port}`;

/**
 * Settings of the registry (distribution), as JSON, which is YAML too.
 * @param data data folder inside the container
 * @param served folder inside the container with its certificate and the hashed password
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
  /** Mount point of the written disk's root file system while images are built. */
  mount,
  /** All files of layering on the written disk; removed before the host reboots. */
  work,
  data: `${work}/registry`,
  /** Image store of the builds. Sockets are in the run folder; their paths are short. */
  store: { storage: `${work}/storage`, run: '/run/bootwright/storage' },
  /** Contexts of the builds, and temporary files of programs. */
  scratch: `${work}/scratch`,
} as const;

/** Files below the folder of secrets. */
export const stagingFiles = {
  /** Folder mounted into the container: settings, its certificate and the hashed password. */
  served: `${secretsFolder}/registry`,
  settings: `${secretsFolder}/registry/settings.yml`,
  passwords: `${secretsFolder}/registry/htpasswd`,
  /** Folder with `ca.crt` alone, the layout that clients require. */
  certificates: `${secretsFolder}/certificates`,
  authFile: `${secretsFolder}/staging-auth.json`,
  /** Credentials for curl. */
  curl: `${secretsFolder}/staging-curl`,
  /** The address, so that a later run uses it again. */
  address: `${secretsFolder}/address`,
} as const;

/** The container of the staging registry. */
export const registryContainer = 'bootwright-registry';

/** The image of a release that contains a registry. */
export const registryOfRelease = 'docker-registry';

/**
 * Starts the registry, and replaces an earlier container. Since 4.21 the image of a release
 * contains the plain registry beside the cluster's one (openshift/appliance runs it in the same
 * way); its entrypoint starts the cluster's. No file is relabelled: the labels of the disk belong
 * to another system.
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

/** Starts the container again after it ended; no effect while it runs. */
export const startAgainArgv = ['podman', 'start', registryContainer] as const;

/** Stops the registry and removes its container; no effect without a container. */
export const removeRegistryArgv = [
  ...['podman', 'rm', '--force', '--ignore', '--time', '10', registryContainer],
] as const;

/** Prints the HTTP status of the registry's answer to its user: 200. */
export const answerArgv = (address: string): readonly string[] => [
  ...['curl', '--silent', '--output', '/dev/null', '--write-out', '%{http_code}'],
  ...['--max-time', '10', '--noproxy', '*', '--cacert', `${stagingFiles.certificates}/ca.crt`],
  ...['--config', stagingFiles.curl, `https://${address}/v2/`],
];

/** Creates a self-signed certificate of the registry, and its key. */
export const certificateArgv = (folder: string): readonly string[] => [
  ...['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
  ...['-subj', '/CN=bootwright staging registry', '-days', '30'],
  ...['-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'],
  ...['-keyout', `${folder}/tls.key`, '-out', `${folder}/tls.crt`],
];
