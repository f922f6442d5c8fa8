import { Buffer } from 'node:buffer';
import { imageForArgv, releaseImageIn, releaseScript } from '../../cluster/release-image.ts';
import { all } from '../../engine/condition.ts';
import type { PollResult } from '../../engine/wait.ts';
import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import type { RegistryAccess } from '../../layering/build/container-tools.ts';
import { layeringFailure } from '../../layering/failures.ts';
import {
  authorityFiles,
  certificateCommands,
  curlCredentials,
  passwordLine,
  pullSecretOf,
  validityAt,
} from '../../layering/registry/credentials.ts';
import {
  answerArgv,
  traceArgvs,
  removeRegistryArgv,
  stagingFiles,
  stagingPlaces,
  startAgainArgv,
  tracesIn,
  registryOfRelease,
  type RegistryRun,
  registrySettings,
  runRegistryArgv,
  secretsFolder,
  stagingAddress,
  type StagingPlaces,
} from '../../layering/registry/staging-registry.ts';
import { digestOf } from '../../lib/image-name.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { writesDisk, buildsOsImages } from '../conditions.ts';
import { findPartition, freePercent } from '../disk/block-devices.ts';
import { TargetDisk } from '../disk/facts.ts';
import { mountedOn } from '../disk/in-use.ts';
import { readTarget, execOnTarget } from '../disk/target.ts';
import { unreadableOutput } from '../host-commands.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { unlessRequested, withReleaseFallback } from './conditions.ts';
import { BuildRequest, StagingRegistry, RenderedConfigs } from './facts.ts';

/**
 * The one repository of the staging registry. Base and results share it, so that blobs of the base
 * are known there when a result is pushed.
 */
export const stagingRepository = ({ address }: Pick<RunningRegistry, 'address'>): string =>
  `${address}/layering/os`;

/** What it takes to read from the registry, and to push to it. */
export const accessTo = ({ authFile, certificates }: RunningRegistry): RegistryAccess => ({
  authFile,
  certificates,
});

/** The base in the staging registry under its own digest; undefined for a name that has none. */
export const stagedBase = (registry: RunningRegistry, base: string): string | undefined => {
  const digest = digestOf(base);
  return digest === undefined ? undefined : `${stagingRepository(registry)}@${digest}`;
};

/** A staging registry that runs. */
export type RunningRegistry = StagingRegistry;

const startsWithin = minutes(2);

/** curl ends with another code than 0 while nobody answers; it prints 000 then. */
const anyCurlExit = [0, 6, 7, 28, 35, 51, 52, 56, 60, 77];

/** Waits until the registry answers those it knows, and nobody else. */
export async function untilRegistryAnswers(
  { until, host }: StepScope<'host'>,
  { address, certificates }: Pick<RunningRegistry, 'address' | 'certificates'>,
): Promise<void> {
  const ask = async (signal: AbortSignal, credentials?: string): Promise<string> => {
    const options = { certificates, ...(credentials === undefined ? {} : { credentials }) };
    const { stdout } = await host.exec(answerArgv(address, options), {
      signal,
      limit: seconds(20),
      accept: anyCurlExit,
    });
    return stdout;
  };
  const poll = async (signal: AbortSignal): Promise<PollResult<true>> => {
    const stranger = await ask(signal);
    if (stranger !== '401')
      return { status: `it answers ${said(stranger)} to a request without credentials` };
    const known = await ask(signal, stagingFiles.curl);
    return known === '200'
      ? { done: true }
      : { status: `it answers ${said(known)} to a request with credentials` };
  };
  await until(`the registry at ${address} answers`, poll, {
    every: seconds(1),
    within: startsWithin,
  });
}

const said = (status: string): string => (status === '000' || status === '' ? 'nothing' : status);

/** Brings the registry back where its container ended meanwhile. */
export async function keepRegistry(
  scope: StepScope<'host'>,
  registry: RunningRegistry,
): Promise<void> {
  const { host, signal } = scope;
  await host.exec(startAgainArgv, { signal, limit: minutes(1) });
  await untilRegistryAnswers(scope, registry);
}

const { mount, work } = stagingPlaces();
const deployments = `${mount}/ostree/deploy/rhcos/deploy`;

/**
 * Folders of overlays that a killed build left mounted are below the work; the deepest go first.
 */
const unmountWorkArgv = ['umount', '--recursive', '--quiet', `${work}/storage/overlay`] as const;
const clearArgv = ['rm', '--recursive', '--force', '--one-file-system', work] as const;
const flushArgv = ['sync', '--file-system', mount] as const;
const unmountArgv = ['umount', mount] as const;

/**
 * Ends the registry and takes what was built off the written disk, which boots with nothing of it.
 * It comes right before the host leaves, and refuses to continue where the disk would ask for the
 * registry later.
 */
export const stopRegistry = step({
  id: 'layering/stop-registry',
  title: 'Stop the staging registry and remove its data from the disk',
  uses: ['host'],
  needs: { request: BuildRequest, registry: StagingRegistry, disk: TargetDisk },
  when: all(writesDisk, buildsOsImages),
  // One that failed to start may have left something too.
  skipIf: unlessRequested,
  effect: 'destroys',
  limit: minutes(30),
  preview: () => [
    removeRegistryArgv,
    unmountWorkArgv,
    clearArgv,
    flushArgv,
    unmountArgv,
    ...callsOf('find', 'grep'),
  ],
  run: async (scope, { registry, disk }) => {
    const { host, signal } = scope;
    const isMounted = mountedOn(await readTarget(host, disk, signal), [mount]).length > 0;
    if (isMounted && registry.kind === 'running') await refuseTraces(scope, registry.address);
    await host.exec(removeRegistryArgv, { signal, limit: minutes(2) });
    // After an earlier run that came this far there is nothing left to be cleared.
    if (!isMounted) return;
    const nothingThere = [0, 1, 32];
    await host.exec(unmountWorkArgv, { signal, limit: minutes(2), accept: nothingThere });
    await host.exec(clearArgv, { signal, limit: minutes(10) });
    await host.exec(flushArgv, { signal, limit: minutes(10) });
    await scope.until('the written disk is no longer busy', () => leave(scope), {
      every: seconds(2),
      within: minutes(1),
    });
  },
});

async function leave({ host, signal }: StepScope<'host'>) {
  const busy = 32;
  const accept = [0, busy];
  const { exitCode, stderr } = await host.exec(unmountArgv, {
    signal,
    limit: minutes(5),
    accept,
  });
  return exitCode === 0 ? { done: true } : { status: stderr };
}

/** @throws AgentError `layering.staging-left` */
async function refuseTraces(scope: StepScope<'host'>, address: string): Promise<void> {
  const { host, signal } = scope;
  const written = { root: mount, deployments: await host.list(deployments, signal), address };
  const outputs: string[] = [];
  for (const argv of traceArgvs(written)) {
    const { stdout } = await host.exec(argv, { signal, limit: minutes(2), accept: [0, 1, 2] });
    outputs.push(stdout);
  }
  const traces = tracesIn(...outputs);
  if (traces.length === 0) return;
  const shown = traces.map((path) => path.replace(mount, ''));
  const what = `files on the written disk refer to ${address}: ${shown.join(', ')}`;
  throw layeringFailure('layering.staging-left', what, {
    context: { address, found: traces.length },
  });
}

type RegistryScope = StepScope<'host' | 'clock' | 'random'>;

/** The image of the registry may come over a slow line. */
const longestPull = minutes(30);

/**
 * Starts a registry on this host. The base lies in it byte by byte before anything is built on it,
 * so that what is pushed keeps the blobs that nodes have already. A second run finds the same
 * registry and user.
 */
export const startRegistry = step({
  id: 'layering/start-registry',
  title: 'Start the staging registry',
  uses: ['host', 'clock', 'random'],
  needs: { request: BuildRequest, rendered: RenderedConfigs, disk: TargetDisk },
  gives: StagingRegistry,
  when: buildsOsImages,
  limit: longestPull + minutes(20),
  explain: ({ layering }) =>
    layering.registryImage === ''
      ? 'the registry is docker-registry of the release'
      : `the registry is ${layering.registryImage} (layering.registryImage)`,
  preview: () =>
    callsOf(
      'curl',
      'df',
      'fsfreeze',
      'growpart',
      'install',
      'lsblk',
      'mkdir',
      'mount',
      'openssl',
      'podman',
      'xfs_growfs',
    ),
  run: async (scope, { request, rendered, disk }) => {
    if (request.kind !== 'on') return { kind: 'release', why: request.why } as const;
    if (rendered.length === 0)
      return { kind: 'release', why: 'no MachineConfig was rendered' } as const;
    return withReleaseFallback(scope, async () => {
      try {
        return await start(scope, disk);
      } catch (error) {
        await cleanUp(scope);
        throw error;
      }
    });
  },
});

async function start(scope: RegistryScope, target: TargetDisk): Promise<RunningRegistry> {
  const { config, host, signal } = scope;
  const { data } = await openStagingDisk(scope, target);
  const port = config.layering.registryPort;
  const address = stagingAddress(port);
  await makeRegistrySecrets(scope, address);
  const { settings, served, certificates, authFile } = stagingFiles;
  await host.writeFile(settings, registrySettings({ port }), { signal, mode: 0o600 });
  const image = await findImage(scope);
  const run = { ...image, data, served, authFile: PULL_SECRET_PATH };
  try {
    await host.exec(runRegistryArgv(run), { signal, limit: longestPull });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof Error)) throw error;
    throw layeringFailure('layering.registry-not-started', `${run.image}: ${error.message}`, {
      cause: error,
    });
  }
  await untilRegistryAnswers(scope, { address, certificates });
  return { kind: 'running', address, data, certificates, authFile };
}

/**
 * Where the installation continues without images, nothing must be in the way of the written disk.
 */
async function cleanUp({ host }: RegistryScope): Promise<void> {
  const { signal } = new AbortController();
  for (const argv of [removeRegistryArgv, ['umount', stagingPlaces().mount]]) {
    await host.exec(argv, { signal, limit: seconds(30) }).catch(() => undefined);
  }
}

/**
 * The image of the registry: the configured one, else that of the release.
 * @throws AgentError `layering.no-registry-image`
 */
async function findImage({
  config,
  host,
  signal,
}: RegistryScope): Promise<Pick<RegistryRun, 'image' | 'isOfRelease'>> {
  const { registryImage } = config.layering;
  if (registryImage !== '') return { image: registryImage, isOfRelease: false };
  const release = releaseImageIn((await host.readText(releaseScript, signal)) ?? '');
  if (release === undefined) {
    throw layeringFailure('layering.no-registry-image', `${releaseScript} names no release image`);
  }
  const argv = imageForArgv(release, registryOfRelease, PULL_SECRET_PATH);
  const { stdout } = await host.exec(argv, { signal, limit: longestPull });
  if (/[^\w.:/@-]/.test(stdout)) throw unreadableOutput('podman', 'image name', stdout);
  if (stdout !== '') return { image: stdout, isOfRelease: true };
  throw layeringFailure('layering.no-registry-image', `${release} has no ${registryOfRelease}`);
}

/** Folders that nobody but root may look into. */
const secretFoldersArgv = [
  ...['install', '--directory', '--mode', '0700', secretsFolder],
  ...[stagingFiles.served, stagingFiles.authority, stagingFiles.certificates],
] as const;

/**
 * Makes the certificates and the one user of the staging registry, unless an earlier run did for
 * this address. The file with the address is written last: where it is, all else is.
 */
async function makeRegistrySecrets(scope: RegistryScope, address: string): Promise<void> {
  const { host, signal } = scope;
  if ((await host.readText(stagingFiles.address, signal)) === address) return;
  await host.exec(secretFoldersArgv, { signal, limit: seconds(20) });
  await makeCertificates(scope);
  const { random } = scope;
  // 244 random bits: two UUIDs, whose dashes say nothing.
  const password = `${random.uuid()}${random.uuid()}`.replaceAll('-', '');
  const user = { name: 'bootwright', password };
  const salt = Buffer.from(random.uuid().replaceAll('-', ''), 'hex');
  for (const [path, content] of [
    [stagingFiles.passwords, passwordLine(user, salt)],
    [stagingFiles.authFile, pullSecretOf(address, user)],
    [stagingFiles.curl, curlCredentials(user)],
    [stagingFiles.address, address],
  ] as const) {
    await host.writeFile(path, content, { signal, mode: 0o600 });
  }
}

async function makeCertificates({ host, signal, clock }: RegistryScope): Promise<void> {
  const { authority, served, certificates } = stagingFiles;
  const names = { addresses: ['127.0.0.1'], names: ['localhost'] };
  for (const { path, content } of authorityFiles(authority, names)) {
    await host.writeFile(path, content, { signal, mode: 0o600 });
  }
  const placed = [
    ['cp', `${authority}/ca.crt`, certificates],
    ['cp', `${authority}/tls.crt`, `${authority}/tls.key`, served],
  ];
  for (const argv of [...certificateCommands(authority, validityAt(clock.now())), ...placed]) {
    await host.exec(argv, { signal, limit: minutes(1) });
  }
}

const gibibyte = 1024 ** 3;

/**
 * The base twice, compressed in the registry and unpacked in the store, two results, and what the
 * build itself needs; the image of a disk leaves next to nothing free. An estimate for RHCOS.
 */
const wantedBytes = 24 * gibibyte;

/** Below this there is no use in beginning. */
const leastBytes = 8 * gibibyte;

/**
 * Mounts the root file system of the written disk, where it stays until all images are built, and
 * lets it grow as far as they need: the image of a disk is nearly full, and a live system runs from
 * memory. The first boot grows it to the end.
 * @throws AgentError `layering.disk-too-small`, `disk.*`, `command.*`
 */
async function openStagingDisk(
  scope: StepScope<'host'>,
  target: TargetDisk,
): Promise<StagingPlaces> {
  const { host, signal } = scope;
  const places = stagingPlaces();
  const { mount, work, data, storage, scratch } = places;
  const disk = await readTarget(host, target, signal);
  if (mountedOn(disk, [mount]).length === 0) {
    const root = findPartition(disk, 'root');
    const free = freePercent(disk, wantedBytes);
    const share = free > 0 ? [`--free-percent=${free}`] : [];
    const grow = ['growpart', ...share, target.path, String(root.number)];
    // 1: the partition fills its place already.
    await execOnTarget({ host, target }, grow, { signal, accept: [0, 1], limit: minutes(2) });
    await run(['mkdir', '-p', mount]);
    // After the partition has grown: where it is mounted, a run that was killed is continued from
    // here.
    await run(['mount', root.path, mount]);
  }
  // An image that was written offline, or that was deployed to, stays frozen; 1 when it is not.
  await run(['fsfreeze', '--unfreeze', mount], [0, 1]);
  await run(['xfs_growfs', mount]);
  await run(['mkdir', '-p', data, storage, scratch]);
  await requireRoom(scope, work);
  return places;

  async function run(argv: readonly string[], accept: readonly number[] = [0]): Promise<void> {
    await host.exec(argv, { signal, accept, limit: minutes(2) });
  }
}

async function requireRoom({ host, signal }: StepScope<'host'>, folder: string): Promise<void> {
  const argv = ['df', '--block-size=1', '--output=avail', folder];
  const { stdout } = await host.exec(argv, { signal, limit: seconds(30) });
  const free = Number(/(?<!\d)\d+$/.exec(stdout)?.[0] ?? Number.NaN);
  if (Number.isNaN(free)) throw unreadableOutput('df', 'free bytes', stdout);
  if (free >= leastBytes) return;
  throw layeringFailure(
    'layering.disk-too-small',
    `${Math.floor(free / gibibyte)} GiB are free on the written disk, ${leastBytes / gibibyte} are needed to build images`,
    { context: { free, needed: leastBytes } },
  );
}
