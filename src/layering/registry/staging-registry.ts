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

/** Settings of the registry (distribution), as JSON, which is YAML too. */
export function registrySettings({
  port,
  data = inContainer.data,
  served = inContainer.served,
}: {
  readonly port: number;
  /** Folders as the registry sees them, unless it runs in its container. */
  readonly data?: string;
  readonly served?: string;
}): string {
  const settings = {
    version: '0.1',
    log: { level: 'info', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: data } },
    http: {
      addr: stagingAddress(port),
      tls: { certificate: `${served}/tls.crt`, key: `${served}/tls.key` },
    },
    auth: { htpasswd: { realm: 'bootwright', path: `${served}/htpasswd` } },
  };
  return `${JSON.stringify(settings, undefined, 2)}\n`;
}

/** Folders of the staging registry on the host. */
export interface StagingPlaces {
  /** Root file system of the written disk. */
  readonly mount: string;
  /** All that layering puts on the written disk; removed before the host reboots. */
  readonly work: string;
  readonly data: string;
  /** Storage of the program that builds. */
  readonly storage: string;
  /** Contexts of the builds, and what programs keep meanwhile. */
  readonly scratch: string;
}

/** Folder of certificates and credentials on the live system, which the reboot discards. */
export const secretsFolder = '/opt/bootwright-layering';

/** Where the root file system of the written disk stays mounted while images are built. */
export const stagingMount = '/run/bootwright/staging';

/** Sockets of the storage that images are built in lie here; their paths are short. */
export const storageRun = '/run/bootwright/storage';

const inTarget = 'ostree/deploy/rhcos/var/lib/bootwright-layering';

/** Folders below the one of layering. */
export const placesIn = (work: string): Omit<StagingPlaces, 'mount' | 'work'> => ({
  data: `${work}/registry`,
  storage: `${work}/storage`,
  scratch: `${work}/scratch`,
});

/** The folders on the written disk: images are larger than the memory of a live system. */
export function stagingPlaces(): StagingPlaces {
  const work = `${stagingMount}/${inTarget}`;
  return { mount: stagingMount, work, ...placesIn(work) };
}

/** Files below the folder of secrets. */
export const stagingFiles = {
  /** What the container sees: settings, its certificate and the hashed password. */
  served: `${secretsFolder}/registry`,
  settings: `${secretsFolder}/registry/settings.yml`,
  passwords: `${secretsFolder}/registry/htpasswd`,
  /** The authority, which the container does not see. */
  authority: `${secretsFolder}/authority`,
  /** `ca.crt` alone, as clients want it. */
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

/** Options of the container. */
export interface RegistryRun {
  readonly image: string;
  /** The image is that of a release, whose entrypoint starts a cluster's registry. */
  readonly isOfRelease: boolean;
  /** Folders of the host. */
  readonly data: string;
  readonly served: string;
  readonly authFile: string;
}

/**
 * Starts the registry, and replaces an earlier container. The image of a release has the plain
 * registry beside that of a cluster since 4.21 (openshift/appliance runs it in the same way).
 * Nothing is relabelled, as the data lies on a disk whose labels are those of another system.
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

/** Prints the status of a registry's answer: 401 without credentials, 200 with them. */
export const answerArgv = (
  address: string,
  options: { readonly certificates: string; readonly credentials?: string },
): readonly string[] => [
  ...['curl', '--silent', '--output', '/dev/null', '--write-out', '%{http_code}'],
  ...['--max-time', '10', '--noproxy', '*', '--cacert', `${options.certificates}/ca.crt`],
  ...(options.credentials === undefined ? [] : ['--config', options.credentials]),
  `https://${address}/v2/`,
];

/** The part of a written disk to search. */
export interface WrittenRoot {
  /** Where its root file system is mounted. */
  readonly root: string;
  /** Names in the folder of its deployments: the deployments, and a file of the origin of each. */
  readonly deployments: readonly string[];
  /** HOST:PORT that must not be named. */
  readonly address: string;
}

/**
 * Lists the files below a written disk that name a registry, and the folders that are named after
 * it, where its deployments configure registries; `find` takes brackets for a pattern. Missing
 * folders are not an error: the exit codes 1 and 2 mean nothing.
 */
export function traceArgvs({
  root,
  deployments,
  address,
}: WrittenRoot): readonly (readonly string[])[] {
  const of = `${root}/ostree/deploy/rhcos/deploy`;
  const settings = ['etc/containers', 'etc/docker', 'etc/pki/ca-trust/source/anchors'];
  const places = deployments.flatMap((name) =>
    name.endsWith('.origin') ? [`${of}/${name}`] : settings.map((one) => `${of}/${name}/${one}`),
  );
  return [
    [
      ...['grep', '--recursive', '--files-with-matches', '--no-messages', '--fixed-strings'],
      ...['-e', address, '--', ...places],
    ],
    ['find', ...places, '-name', `*${address.replaceAll(/[[\]*?\\]/g, String.raw`\$&`)}*`],
  ];
}

/** The paths of both outputs, without duplicates. */
export const tracesIn = (...outputs: readonly string[]): readonly string[] =>
  [...new Set(outputs.flatMap((text) => text.split('\n')))].filter((path) => path !== '').sort();
