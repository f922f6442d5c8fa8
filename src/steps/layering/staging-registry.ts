import { Buffer } from 'node:buffer';
import { imageForArgv, releaseImageIn, releaseScript } from '../../cluster/release.ts';
import { all } from '../../engine/condition.ts';
import type { PollResult } from '../../engine/wait.ts';
import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import type { RegistryAccess } from '../../layering/build/container-tools.ts';
import { layeringFailure } from '../../layering/failures.ts';
import {
  curlCredentials,
  passwordLine,
  pullSecretOf,
} from '../../layering/registry/credentials.ts';
import {
  answerArgv,
  certificateArgv,
  registryOfRelease,
  registrySettings,
  removeRegistryArgv,
  runRegistryArgv,
  secretsFolder,
  stagingAddress,
  stagingFiles,
  stagingPlaces,
  startAgainArgv,
} from '../../layering/registry/staging-registry.ts';
import { digestOf } from '../../lib/image-name.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { buildsOsImages, writesDisk } from '../conditions.ts';
import { findPartition, freePercent } from '../disk/block-devices.ts';
import { TargetDisk } from '../disk/facts.ts';
import { mountedOn } from '../disk/in-use.ts';
import { readTarget } from '../disk/target.ts';
import { unreadableOutput } from '../host-commands.ts';
import { growRoot } from '../image/disk-mounts.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { unlessRequested, withReleaseFallback } from './conditions.ts';
import { BuildRequest, RenderedPools, StagingRegistry } from './facts.ts';

/**
 * The only repository of the staging registry. Base and results share it, so that the registry has
 * the blobs of the base when a result is pushed.
 */
export const stagingRepository = ({ address }: Pick<StagingRegistry, 'address'>): string =>
  `${address}/layering/os`;

/** The credentials and certificates for pulls from the registry and pushes to it. */
export const accessTo = ({ authFile, certificates }: StagingRegistry): RegistryAccess => ({
  authFile,
  certificates,
});

/** The base in the staging registry under its own digest; undefined for a name without one. */
export const stagedBase = (registry: StagingRegistry, base: string): string | undefined => {
  const digest = digestOf(base);
  return digest === undefined ? undefined : `${stagingRepository(registry)}@${digest}`;
};

/** curl exits with a code other than 0, and prints 000, while no server answers. */
const anyCurlExit = [0, 6, 7, 28, 35, 51, 52, 56, 60, 77];

async function untilRegistryAnswers(
  { until, host }: StepScope<'host'>,
  address: string,
): Promise<void> {
  const poll = async (signal: AbortSignal): Promise<PollResult<true>> => {
    const options = { signal, limit: minutes(2), accept: anyCurlExit };
    const { stdout } = await host.exec(answerArgv(address), options);
    if (stdout === '200') return { done: true };
    return { status: `it answers ${stdout === '000' || stdout === '' ? 'nothing' : stdout}` };
  };
  const limits = { every: seconds(1), within: minutes(5) };
  await until(`the registry at ${address} answers`, poll, limits);
}

/** Restarts the container of the registry if it has ended. */
export async function keepRegistry(
  scope: StepScope<'host'>,
  { address }: StagingRegistry,
): Promise<void> {
  const { host, signal } = scope;
  await host.exec(startAgainArgv, { signal, limit: minutes(2) });
  await untilRegistryAnswers(scope, address);
}

type RegistryScope = StepScope<'host' | 'random'>;

/** A pull of the registry image over a slow connection takes this long. */
const longestPull = minutes(30);

/**
 * Starts a registry on this host. The registry has the base, byte for byte, before any build on it,
 * so that a push keeps the blobs that nodes have already. A second run finds the same registry and
 * user.
 */
export const startRegistry = step({
  id: 'layering/start-registry',
  title: 'Start the staging registry',
  uses: ['host', 'random'],
  needs: { rendered: RenderedPools, disk: TargetDisk },
  gives: StagingRegistry,
  when: buildsOsImages,
  limit: longestPull + minutes(20),
  explain: ({ layering }) =>
    layering.registryImage === ''
      ? 'the registry is docker-registry of the release'
      : `the registry is ${layering.registryImage} (layering.registryImage)`,
  preview: () => [
    ...callsOf('curl', 'df', 'fsfreeze', 'growpart', 'install', 'lsblk', 'mkdir', 'mount'),
    ...callsOf('openssl', 'podman', 'xfs_growfs'),
  ],
  run: async (scope, { rendered, disk }) => {
    if (rendered.kind === 'release') return rendered;
    return withReleaseFallback(scope, async () => {
      try {
        await openStagingDisk(scope, disk);
        return await start(scope);
      } catch (error) {
        // If the installation continues without images, nothing may keep the disk busy.
        const { signal } = new AbortController();
        for (const argv of [removeRegistryArgv, unmountArgv])
          await scope.host.exec(argv, { signal, limit: minutes(2) }).catch(() => undefined);
        throw error;
      }
    });
  },
});

async function start(scope: RegistryScope): Promise<StagingRegistry> {
  const { config, host, signal } = scope;
  const { registryImage, registryPort } = config.layering;
  const address = stagingAddress(registryPort);
  await makeRegistrySecrets(scope, address);
  const { settings, certificates, authFile } = stagingFiles;
  await host.writeFile(settings, registrySettings(registryPort), { signal, mode: 0o600 });
  const image = registryImage === '' ? await findReleaseRegistry(scope) : registryImage;
  const argv = runRegistryArgv(image, registryImage === '', PULL_SECRET_PATH);
  await host.exec(argv, { signal, limit: longestPull }).catch((error: unknown) => {
    signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    throw layeringFailure('layering.registry-not-started', `${image}: ${reason}`, { cause: error });
  });
  await untilRegistryAnswers(scope, address);
  return { kind: 'running', address, certificates, authFile };
}

/** @throws AgentError `layering.no-registry-image` */
async function findReleaseRegistry({ host, signal }: RegistryScope): Promise<string> {
  const release = releaseImageIn((await host.readText(releaseScript, signal)) ?? '');
  if (release === undefined) {
    throw layeringFailure('layering.no-registry-image', `${releaseScript} names no release image`);
  }
  const argv = imageForArgv(release, registryOfRelease, PULL_SECRET_PATH);
  const { stdout } = await host.exec(argv, { signal, limit: longestPull });
  if (/[^\w.:/@-]/.test(stdout)) throw unreadableOutput('podman', 'image name', stdout);
  if (stdout !== '') return stdout;
  throw layeringFailure('layering.no-registry-image', `${release} has no ${registryOfRelease}`);
}

/**
 * Creates the certificate and the only user of the staging registry, unless an earlier run did so
 * for this address. The file with the address is written last: if it exists, so do all others.
 */
async function makeRegistrySecrets(
  { host, signal, random }: RegistryScope,
  address: string,
): Promise<void> {
  const { served, certificates, passwords, authFile, curl } = stagingFiles;
  if ((await host.readText(stagingFiles.address, signal)) === address) return;
  for (const argv of [
    ['install', '--directory', '--mode', '0700', secretsFolder, served, certificates],
    certificateArgv(served),
    ['cp', `${served}/tls.crt`, `${certificates}/ca.crt`],
  ])
    await host.exec(argv, { signal, limit: minutes(2) });
  // 244 random bits: two UUIDs without their dashes.
  const password = `${random.uuid()}${random.uuid()}`.replaceAll('-', '');
  const user = { name: 'bootwright', password };
  const salt = Buffer.from(random.uuid().replaceAll('-', ''), 'hex');
  for (const [path, content] of [
    [passwords, passwordLine(user, salt)],
    [authFile, pullSecretOf(address, user)],
    [curl, curlCredentials(user)],
    [stagingFiles.address, address],
  ] as const) {
    await host.writeFile(path, content, { signal, mode: 0o600 });
  }
}

const gibibyte = 1024 ** 3;

/**
 * The base twice, compressed in the registry and unpacked in the store, two results, and the space
 * of the build itself; the disk image has almost no free space. An estimate for RHCOS.
 */
const wantedBytes = 24 * gibibyte;

/** Minimum free space; with less, no build starts. */
const leastBytes = 8 * gibibyte;

/**
 * Mounts the root file system of the written disk until all images are built, and grows it to their
 * size: the disk image is nearly full, and a live system runs from memory. The first boot grows it
 * to the full size.
 * @throws AgentError `layering.disk-too-small`, `disk.*`, `command.*`
 */
async function openStagingDisk(scope: StepScope<'host'>, target: TargetDisk): Promise<void> {
  const { host, signal } = scope;
  const { mount, work, data, store, scratch } = stagingPlaces;
  const limit = minutes(2);
  const disk = await readTarget(host, target, signal);
  if (mountedOn(disk, [mount]).length === 0) {
    const root = findPartition(disk, 'root');
    await growRoot(scope, target, root, freePercent(disk, wantedBytes));
    await host.exec(['mkdir', '-p', mount], { signal, limit });
    // The mount follows the growth of the partition: if it exists, a resumed run continues from
    // here.
    await host.exec(['mount', root.path, mount], { signal, limit });
  }
  // The file system of an image that was written offline, or deployed to, stays frozen; 1: it is
  // not frozen.
  await host.exec(['fsfreeze', '--unfreeze', mount], { signal, accept: [0, 1], limit });
  await host.exec(['xfs_growfs', mount], { signal, limit });
  await host.exec(['mkdir', '-p', data, store.storage, scratch], { signal, limit });
  const room = ['df', '--block-size=1', '--output=avail', work];
  const { stdout } = await host.exec(room, { signal, limit });
  const free = Number(/(?<!\d)\d+$/.exec(stdout)?.[0] ?? Number.NaN);
  if (Number.isNaN(free)) throw unreadableOutput('df', 'free bytes', stdout);
  if (free >= leastBytes) return;
  throw layeringFailure(
    'layering.disk-too-small',
    `${Math.floor(free / gibibyte)} GiB are free on the written disk, ${leastBytes / gibibyte} are needed to build images`,
    { context: { free, needed: leastBytes } },
  );
}

const { mount, work, store } = stagingPlaces;

/** Overlay folders that a killed build left mounted, the deepest first. */
const unmountWorkArgv = ['umount', '--recursive', '--quiet', `${store.storage}/overlay`] as const;
const clearArgv = ['rm', '--recursive', '--force', '--one-file-system', work] as const;
const flushArgv = ['sync', '--file-system', mount] as const;
const unmountArgv = ['umount', mount] as const;

/** umount's exit code for a busy or missing mount. */
const failed = 32;

/**
 * Stops the registry and removes the built content from the written disk, whose boot needs none of
 * it. The step comes right before the host leaves.
 */
export const stopRegistry = step({
  id: 'layering/stop-registry',
  title: 'Stop the staging registry and remove its data from the disk',
  uses: ['host'],
  needs: { request: BuildRequest, disk: TargetDisk },
  when: all(writesDisk, buildsOsImages),
  // A registry that failed to start may have left content too.
  skipIf: unlessRequested,
  effect: 'destroys',
  limit: minutes(30),
  preview: () => [removeRegistryArgv, unmountWorkArgv, clearArgv, flushArgv, unmountArgv],
  run: async ({ host, signal, until }, { disk }) => {
    const isMounted = mountedOn(await readTarget(host, disk, signal), [mount]).length > 0;
    await host.exec(removeRegistryArgv, { signal, limit: minutes(2) });
    // An earlier run that got this far has removed everything.
    if (!isMounted) return;
    await host.exec(unmountWorkArgv, { signal, limit: minutes(2), accept: [0, 1, failed] });
    await host.exec(clearArgv, { signal, limit: minutes(10) });
    await host.exec(flushArgv, { signal, limit: minutes(10) });
    const leave = async (): Promise<PollResult<true>> => {
      const options = { signal, limit: minutes(5), accept: [0, failed] };
      const { exitCode, stderr } = await host.exec(unmountArgv, options);
      return exitCode === 0 ? { done: true } : { status: stderr };
    };
    const limits = { every: seconds(2), within: minutes(5) };
    await until('the written disk is no longer busy', leave, limits);
  },
});
