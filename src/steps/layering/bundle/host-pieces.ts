import { containerLogs, isMcsLog } from '../../../cluster/mcs-log.ts';
import { AgentError } from '../../../model/failure.ts';
import { containerfileFile } from '../../../layering/build/build-plan.ts';
import {
  isRendererLog,
  poolsFolder,
  renderedFolder,
} from '../../../layering/manifests/delivery.ts';
import { isRendered, machineConfigShape } from '../../../layering/log-bundle.ts';
import { registryContainer, stagingPlaces } from '../../../layering/registry/staging-registry.ts';
import { readObjects } from '../../../layering/source-object.ts';
import { seconds } from '../../../model/duration.ts';
import type { StepScope } from '../../step.ts';
import { storageRun } from '../build-images.ts';
import { holdPathUnit, holdServiceUnit } from '../hold-config-server.ts';
import { servePathUnit, serveServiceUnit } from '../serve-images.ts';
import { stashFolders } from '../stash-os-configs.ts';
import type { Bundle } from './bundle.ts';

type HostScope = Pick<StepScope<'host'>, 'host' | 'signal'>;

const { mount, data, storage, scratch } = stagingPlaces();

const journalArgv = (...matches: readonly string[]): readonly string[] => [
  ...['journalctl', '--no-pager', '--output=short-iso', '--lines=5000'],
  ...matches,
];

const units = [
  ...[holdPathUnit, holdServiceUnit, servePathUnit, serveServiceUnit],
  ...['bootkube.service', 'kubelet.service', 'crio.service'],
  ...['release-image.service', 'node-image-pull.service', 'node-image-overlay.service'],
];

const ownStore = [
  ...['podman', '--root', storage, '--runroot', storageRun],
  ...['--storage-driver', 'overlay'],
];

/** The commands whose output is kept, by the name of the piece; none changes anything. */
export const gatheringCommands: Readonly<Record<string, readonly string[]>> = {
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

/** Gathers what the host can tell of the lane. */
export async function addHostPieces(scope: HostScope, bundle: Bundle): Promise<void> {
  const read = (path: string) => () => scope.host.readText(path, scope.signal);
  await bundle.add('kernel-arguments.txt', read('/proc/cmdline'));
  for (const name of ['registries.conf', 'policy.json']) {
    await bundle.add(name, read(`/etc/containers/${name}`));
  }
  for (const name of await scope.host.list(stashFolders.osConfigs, scope.signal)) {
    await bundle.add(`os-config-${name}`, read(`${stashFolders.osConfigs}/${name}`));
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
