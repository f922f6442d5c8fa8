import { containerLogs, isMcsLog } from '../../cluster/mcs-log.ts';
import { asAgentError } from '../../engine/failures.ts';
import { containerfileFile } from '../../layering/build/build-plan.ts';
import {
  bundleFolder,
  folderThatIsSent,
  isRendered,
  machineConfigShape,
} from '../../layering/log-bundle.ts';
import { isRendererLog, poolsFolder, renderedFolder } from '../../layering/manifests/delivery.ts';
import { registryContainer, stagingPlaces } from '../../layering/registry/staging-registry.ts';
import { readObjects } from '../../layering/source-object.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { step, type StepScope } from '../step.ts';
import { storageRun } from './build-images.ts';
import { buildsOsImages, unlessRequested } from './conditions.ts';
import {
  blockPathUnit,
  blockServiceUnit,
  servePathUnit,
  serveServiceUnit,
} from './config-server.ts';
import { BuildRequest } from './facts.ts';
import { addClusterLogs } from './gather-from-cluster.ts';
import { type Bundle, openBundle, readKnownSecrets } from './log-bundle.ts';
import { asideFolders } from './os-configs.ts';

type GatherScope = StepScope<'host' | 'kube' | 'clock'>;

const folderArgv = ['install', '--directory', '--mode', '0700', bundleFolder] as const;

/** The commands that put a copy beside the other logs that the service is sent. */
const copyCommands = (hostId: string): readonly (readonly string[])[] => {
  const to = folderThatIsSent(hostId);
  return hostId === ''
    ? []
    : [
        ['install', '--directory', '--mode', '0700', to],
        ['cp', '--recursive', `${bundleFolder}/.`, to],
      ];
};

const gathering = {
  uses: ['host', 'kube', 'clock'],
  // Each of its commands has a limit of its own; together they stay far below.
  limit: minutes(15),
  preview: ({ cluster }: GatherScope['config']) => [
    folderArgv,
    ...Object.values(gatheringCommands),
    ...copyCommands(cluster.hostId),
  ],
} as const;

/** Keeps what is known of the images before what was built is cleared off the disk; the logs are sent after it. */
export const gatherLogs = step({
  ...gathering,
  id: 'layering/gather-logs',
  title: 'Gather the logs of the image builds',
  needs: { request: BuildRequest },
  when: buildsOsImages,
  skipIf: unlessRequested,
  run: (scope) => gather(scope, 'before the host leaves'),
});

/**
 * The same after a failure, while the service hears of it: within two minutes it asks for the logs of the host,
 * and stops what still runs. It asks for no fact, since nobody knows how far the run came; a host without orders
 * has nothing of this.
 */
export const gatherLogsAtTheEnd = step({
  ...gathering,
  id: 'layering/gather-logs-at-the-end',
  title: 'Gather the logs of the image builds, also after a failure',
  when: buildsOsImages,
  run: async (scope) => {
    const setAside = await scope.host.list(asideFolders.osConfigs, scope.signal);
    if (setAside.length > 0 && !(await isGathered(scope))) await gather(scope, 'after a failure');
  },
});

type Occasion = 'before the host leaves' | 'after a failure';

/** The first line of the index. */
const titleOf = (occasion: Occasion): string => `gathered ${occasion}`;

/** Nothing of the build is left to be gathered, and it was gathered before that. */
async function isGathered({ host, signal }: GatherScope): Promise<boolean> {
  const isCleared = (await host.realPath(stagingPlaces().work, signal)) === undefined;
  const index = isCleared ? await host.readText(`${bundleFolder}/index.txt`, signal) : undefined;
  return index?.startsWith(titleOf('before the host leaves')) === true;
}

/** Logs are never worth an installation: a failure to gather them is a warning. */
async function gather(scope: GatherScope, occasion: Occasion): Promise<void> {
  const { host, signal, config, note } = scope;
  const run = (argv: readonly string[]): Promise<unknown> =>
    host.exec(argv, { signal, limit: seconds(30) });
  try {
    await run(folderArgv);
    const { mask, sources } = await readKnownSecrets(scope);
    const bundle = openBundle(scope, { mask });
    await bundle.add('credentials.json', () => Promise.resolve(JSON.stringify(sources, null, 2)));
    await addHostLogs(scope, bundle);
    await addClusterLogs(scope, bundle);
    await bundle.close(titleOf(occasion));
    for (const argv of copyCommands(config.cluster.hostId)) await run(argv);
  } catch (error) {
    signal.throwIfAborted();
    const { code, message } = asAgentError(error);
    note('warn', 'the logs of the image builds are not gathered', { code, reason: message });
  }
}

type HostScope = Pick<StepScope<'host'>, 'host' | 'signal'>;

const { mount, data, storage, scratch } = stagingPlaces();

const journalArgv = (...matches: readonly string[]): readonly string[] => [
  ...['journalctl', '--no-pager', '--output=short-iso', '--lines=5000'],
  ...matches,
];

const units = [
  ...[blockPathUnit, blockServiceUnit, servePathUnit, serveServiceUnit],
  ...['bootkube.service', 'kubelet.service', 'crio.service'],
  ...['release-image.service', 'node-image-pull.service', 'node-image-overlay.service'],
];

const ownStore = [
  ...['podman', '--root', storage, '--runroot', storageRun],
  ...['--storage-driver', 'overlay'],
];

/** The commands whose output is kept, by the name of the piece; none changes anything. */
const gatheringCommands: Readonly<Record<string, readonly string[]>> = {
  'registry.log': journalArgv(`CONTAINER_NAME=${registryContainer}`),
  'units.log': journalArgv(...units.map((unit) => `--unit=${unit}`)),
  'podman-info.txt': ['podman', 'info'],
  'podman-containers.txt': ['podman', 'ps', '--all'],
  'podman-images.txt': ['podman', 'images', '--digests'],
  'built-images.txt': [...ownStore, 'images', '--digests'],
  'buildah-info.txt': ['buildah', 'info'],
  'registry-tags.txt': [
    ...['find', `${data}/docker/registry/v2/repositories`, '-path', '*/_manifests/tags/*'],
    ...['-name', 'link'],
  ],
  'disk-space.txt': ['df', '--human-readable'],
  'memory.txt': ['free', '--mebi'],
  'rendered-files.txt': ['ls', '-l', '--recursive', '/etc/mcs/bootstrap'],
  'written-disk.txt': ['ostree', 'admin', 'status', `--sysroot=${mount}`],
};

const longestCommand = seconds(20);

/** Gathers the logs and files of the host. */
async function addHostLogs(scope: HostScope, bundle: Bundle): Promise<void> {
  const read = (path: string) => () => scope.host.readText(path, scope.signal);
  await bundle.add('kernel-arguments.txt', read('/proc/cmdline'));
  for (const name of ['registries.conf', 'policy.json']) {
    await bundle.add(name, read(`/etc/containers/${name}`));
  }
  for (const name of await scope.host.list(asideFolders.osConfigs, scope.signal)) {
    await bundle.add(`os-config-${name}`, read(`${asideFolders.osConfigs}/${name}`));
  }
  for (const pool of await scope.host.list(scratch, scope.signal)) {
    const folder = `${scratch}/${pool}`;
    await bundle.add(`${pool}-Containerfile`, read(`${folder}/context/${containerfileFile}`));
    await bundle.add(`${pool}-build.log`, read(`${folder}/build.log`));
    await bundle.add(`${pool}-digest`, read(`${folder}/digest`));
  }
  await addRendered(scope, bundle);
  await addContainerLogs(scope, bundle);
  // Beside each other: the host is about to leave, and none of them needs another.
  await Promise.all(
    Object.entries(gatheringCommands).map(([name, argv]) =>
      bundle.add(name, () => outputOf(scope, argv)),
    ),
  );
}

async function addRendered({ host, signal }: HostScope, bundle: Bundle): Promise<void> {
  for (const name of await host.list(poolsFolder, signal)) {
    await bundle.add(`pool-${name}`, () => host.readText(`${poolsFolder}/${name}`, signal));
  }
  for (const name of (await host.list(renderedFolder, signal)).filter(isRendered)) {
    await bundle.add(name, async () => {
      const path = `${renderedFolder}/${name}`;
      const text = await host.readText(path, signal);
      const objects = text === undefined ? [] : readObjects({ path, text });
      return objects.map(({ value }) => machineConfigShape(value)).join('---\n');
    });
  }
}

async function addContainerLogs({ host, signal }: HostScope, bundle: Bundle): Promise<void> {
  for (const name of await host.list(containerLogs, signal)) {
    if (!isRendererLog(name) && !isMcsLog(name)) continue;
    await bundle.add(`container-${name}`, async () => {
      const path = await host.realPath(`${containerLogs}/${name}`, signal);
      return path === undefined ? undefined : host.readText(path, signal);
    });
  }
}

/** What a command says, and what it said when it failed: `podman ps` of a broken store is worth as much. */
async function outputOf({ host, signal }: HostScope, argv: readonly string[]): Promise<string> {
  try {
    const { stdout, stderr } = await host.exec(argv, { signal, limit: longestCommand });
    return `${[stdout, stderr].filter((text) => text !== '').join('\n')}\n`;
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== 'command.failed') throw error;
    return `${error.message}\n${textIn(error.context['stdout'])}\n${textIn(error.context['stderr'])}\n`;
  }
}

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');
