import { asAgentError } from '../../engine/failures.ts';
import { ifGiven } from '../../engine/fact.ts';
import { parseConfig } from '../../ignition/parse.ts';
import { registryConfigArgv } from '../../layering/build/container-tools.ts';
import { secretsInIgnition } from '../../layering/registry/log-secrets.ts';
import { jsonIn } from '../../lib/json.ts';
import { SecretUrl } from '../../lib/secret-url.ts';
import { hiddenInWords, shownText, shownUrl } from '../../lib/shown-url.ts';
import { readWriterArgs, type WriterUse } from '../../settings/writer-args.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import { inspectArgv, readInspected } from '../../os/registry-image.ts';
import { givenVersion, writesDisk } from '../conditions.ts';
import { TargetDisk } from '../disk/facts.ts';
import { refuseWipes } from '../disk/kept.ts';
import { readWriterSetup, unreadable, usesIn, valueOf } from '../disk/writer-args.ts';
import { readArchitecture, readBytes, readTextOr, unreadableOutput } from '../host-commands.ts';
import { ignitionFileMissing } from '../ignition/failures.ts';
import { HostIgnition, refuseOtherHash } from '../ignition/fetch-host.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { authFile } from './deploy-final.ts';
import { ChosenImage } from './facts.ts';
import { imageFailure, imageFileMissing } from './failures.ts';
import { headBytes, headOfUrl, refuseUnfit, verifyFile } from './image-file.ts';
import {
  checkKeyfiles,
  keyfilesArgv,
  makeFolderArgv,
  nmcliArgv,
  nmstateArgv,
  readNmstate,
  writeNmstate,
} from './network.ts';
import { compareLines, lineOfBuild, lineOfVersion, refuseOtherRelease } from './release.ts';
import { explainImage, needsVerifying, resolveImage } from './source.ts';
import { findInStream } from './stream.ts';
import { usageExit } from './writer-failure.ts';

/**
 * Chooses the source of the operating system and checks, before the disk is changed, that the image
 * exists and fits.
 */
export const chooseImage = step({
  id: 'image/choose',
  title: 'Choose the operating system image',
  uses: ['host', 'web'],
  needs: { disk: TargetDisk },
  gives: ChosenImage,
  when: writesDisk,
  effect: 'reads',
  limit: minutes(40),
  requires: [(config) => void resolveImage(config)],
  explain: explainImage,
  preview: ({ image: { writerArgs }, network: { nmstate } }) => [
    ...(isForWriter(writerArgs) ? [readArgumentsArgv(writerArgs)] : []),
    ...(nmstate === '' ? [] : [nmstateArgv(nmstate)]),
    ...callsOf('find', 'od', 'sha256sum', 'uname'),
  ],
  run: async (scope, { disk }) => {
    const { config, note } = scope;
    const { uses } = await readWriterSetup(scope);
    const { kind, place, because, unverified } = resolveImage(config, uses);
    if (unverified !== undefined) {
      note('warn', `nothing verifies the image: ${unverified}`, {
        hint: 'set image.sha256, or take the image by https',
      });
    }
    await checkNodeImage(scope);
    await checkArguments(scope);
    await checkWriterFiles(scope, disk, uses);
    await checkKeyfiles(scope);
    if (config.network.nmstate !== '') await readNmstate(scope);
    const find = async (): Promise<ChosenImage> => {
      switch (kind) {
        case 'writer-args':
          return { kind, because };
        case 'file':
          return findFile(scope, disk, { path: place.reveal(), because });
        case 'url': {
          await checkUrl(scope, disk, place, needsVerifying(config));
          const sha256 = config.image.sha256 || undefined;
          return { kind, url: String(place), source: 'config', sha256, because };
        }
        case 'stream':
          return findStreamImage(scope, disk, { location: place, because });
        case 'live':
          return findOnMedium(scope, disk, because);
      }
    };
    const image = await find();
    const where = image.kind === 'file' ? image.path : image.kind === 'url' ? image.url : '';
    const named = where === '' ? {} : { image: where };
    const found = { source: image.kind, ...named, because: image.because };
    note('info', 'the operating system image is chosen', found);
    return image;
  },
});

/**
 * Runs the checks that need the Ignition config of this host, or the pull secret in it, right
 * before the first loss of data.
 */
export const checkInputs = step({
  id: 'image/check-inputs',
  title: 'Check the remaining inputs of the write',
  uses: ['host', 'clock'],
  needs: { disk: ifGiven(TargetDisk), ignition: HostIgnition },
  retry: { attempts: 3, every: seconds(2) },
  limit: minutes(20),
  preview: ({ image: { existingRoot }, network: { keyfiles, nmstate } }) => [
    ...(keyfiles === '' ? [] : [keyfilesArgv(keyfiles), nmcliArgv]),
    ...(nmstate === '' ? [] : [nmstateArgv(nmstate), nmcliArgv, makeFolderArgv]),
    ...(existingRoot === '' ? [] : [inspectArgv(existingRoot, authFile)]),
  ],
  run: async (scope, { disk, ignition: { path, origin } }) => {
    const { host, config, signal } = scope;
    const { existingRoot, writerArgs } = config.image;
    await warnOfClock(scope);
    await checkKeyfiles(scope);
    if (config.network.nmstate !== '') await writeNmstate(scope);
    if (existingRoot !== '') {
      const argv = inspectArgv(existingRoot, authFile);
      const { stdout } = await host.exec(argv, { signal, limit: minutes(5) });
      readInspected(stdout, existingRoot);
      return;
    }
    const own = ignitionIn(writerArgs);
    const ignition = (await host.readText(own ?? path, signal)) ?? '';
    if (disk?.kept !== undefined) await refuseWipes(scope, disk, ignition);
    const hash = valueOf((await readWriterSetup(scope)).uses, 'ignition-hash');
    refuseOtherHash(ignition, { origin: own ?? origin, hash });
  },
});

/**
 * The time of the first hardware clock in the kernel: seconds since 1970 (Linux,
 * `sysfs-class-rtc`).
 */
const hardwareClock = '/sys/class/rtc/rtc0/since_epoch';

/**
 * Warns about the hardware clock: the first boot starts with its time and refuses certificates that
 * are not valid at that time.
 */
async function warnOfClock({
  host,
  clock,
  signal,
  note,
}: StepScope<'host' | 'clock'>): Promise<void> {
  const text = (await host.readText(hardwareClock, signal))?.trim() ?? '';
  if (!/^\d+$/.test(text)) return;
  const [hardware, now] = [Number(text) * 1000, clock.now()];
  if (Math.abs(hardware - now) <= hours(1)) return;
  const [itsTime, time] = [hardware, now].map((one) => new Date(one).toISOString());
  note('warn', `the hardware clock says ${itsTime}, and the clock of this host ${time}`, {
    hint: 'the first boot starts by the hardware clock: where the clock of this host is right, run hwclock --systohc --utc',
  });
}

/** The Ignition config that coreos-installer takes instead of the config of this host. */
export const ignitionIn = (writerArgs: readonly string[]): string | undefined =>
  valueOf(usesIn(writerArgs), 'ignition-file', 'ignition');

/**
 * Default locations of streams and of network settings in coreos-installer (coreos-installer 0.26,
 * `src/source.rs`, `src/cmdline`).
 */
const streams = 'https://builds.coreos.fedoraproject.org/streams/';
export const networkFolder = '/etc/NetworkManager/system-connections';

/**
 * Whether only coreos-installer can judge arguments: an option outside of the tables, or the types
 * in a configuration file.
 */
function isForWriter(writerArgs: readonly string[]): boolean {
  const { uses, hasUnknown = false } = readWriterArgs(writerArgs);
  return hasUnknown || valueOf(uses, 'config-file') !== undefined;
}

/** coreos-installer ends here where it asks for the size of the disk's sectors. */
export const readArgumentsArgv = (writerArgs: readonly string[]): readonly string[] => [
  ...['coreos-installer', 'install', ...writerArgs, '/dev/null'],
];

/**
 * Lets coreos-installer read its arguments and configuration files, which it does before it opens
 * the disk (0.26, `src/install.rs`). It would refuse them only after the data of the disk is lost.
 * @throws AgentError `image.writer-arguments`, `image.writer-config`
 */
async function checkArguments({ host, config, signal }: WebScope): Promise<void> {
  const { writerArgs } = config.image;
  if (!isForWriter(writerArgs)) return;
  const secrets = hiddenInWords(writerArgs);
  const options = { signal, limit: minutes(2), accept: [0, 1, usageExit], secrets };
  const { stderr, exitCode } = await host.exec(readArgumentsArgv(writerArgs), options);
  if (exitCode === usageExit) {
    const [what = ''] = stderr.replace(/^error: /, '').split('\n');
    throw imageFailure('image.writer-arguments', shownText(what));
  }
  const [, path = valueOf(usesIn(writerArgs), 'config-file') ?? '', why] =
    /^Error: (?:parsing config file (.*)|reprocessing .*)\n\s*Caused by:\s*(.*)/m.exec(stderr) ??
    [];
  if (why !== undefined) throw unreadable(path, shownText(why));
}

/**
 * Opens the files that coreos-installer opens itself, by its arguments and configuration files: an
 * image, an Ignition config instead of the config of this host, network settings. It would fail
 * only after the data of the disk is lost.
 * @throws AgentError `image.*`, `ignition.*`, `web.*`
 */
async function checkWriterFiles(
  scope: WebScope,
  disk: TargetDisk,
  uses: readonly WriterUse[],
): Promise<void> {
  const { host, config, signal } = scope;
  const path = valueOf(uses, 'image-file');
  if (path !== undefined) await checkFile(scope, disk, path);
  const url = valueOf(uses, 'image-url');
  if (url !== undefined) await checkUrl(scope, disk, new SecretUrl(url), needsVerifying(config));
  const stream = valueOf(uses, 'stream');
  if (stream !== undefined) {
    const base = valueOf(uses, 'stream-base-url') ?? streams;
    const location = new SecretUrl(new URL(`${stream}.json`, base).href);
    await findStreamImage(scope, disk, { location, because: '--stream' });
  }
  // A configuration file cannot name an Ignition config: the arguments name the config of this
  // host.
  const own = ignitionIn(config.image.writerArgs);
  if (own !== undefined) await checkIgnition(scope, own, valueOf(uses, 'ignition-hash'));
  // The keyfiles of nmstate are written right before the write of the disk.
  if (valueOf(uses, 'copy-network') === undefined || config.network.nmstate !== '') return;
  const folder = valueOf(uses, 'network-dir') ?? networkFolder;
  if ((await host.realPath(folder, signal)) === undefined)
    throw unreadable(folder, '--copy-network needs it, and it is not on the host');
}

/**
 * coreos-installer uses the last Ignition file of its arguments, and compares its digest only when
 * the image is written.
 */
async function checkIgnition(
  { host, signal, hide }: StepScope<'host'>,
  path: string,
  hash: string | undefined,
): Promise<void> {
  const text = await readTextOr({ host, signal }, path, ignitionFileMissing);
  for (const secret of secretsInIgnition(text)) hide(secret);
  parseConfig(text);
  refuseOtherHash(text, { origin: path, hash });
}

async function checkNodeImage(scope: WebScope): Promise<void> {
  const { host, signal, config, note } = scope;
  const { nodeImage } = config.image;
  if (nodeImage === '') return;
  const architecture = await readArchitecture(scope);
  let inspected = '';
  try {
    const options = { signal, limit: minutes(2) };
    const { stdout } = await host.exec(registryConfigArgv({ image: nodeImage }), options);
    if (jsonIn(stdout) === undefined)
      throw unreadableOutput('skopeo', `configuration of ${nodeImage}`, stdout);
    inspected = stdout;
  } catch (error) {
    signal.throwIfAborted();
    const { code, message } = asAgentError(error);
    const what = 'the node image cannot be inspected; only its tag is checked';
    note('warn', what, { image: nodeImage, code, reason: message });
  }
  const line = lineOfVersion(givenVersion(config) ?? '');
  refuseOtherRelease(nodeImage, inspected, { architecture, line });
}

type WebScope = StepScope<'host' | 'web'>;

async function findFile(
  scope: WebScope,
  disk: TargetDisk,
  { path, because }: { readonly path: string; readonly because: string },
): Promise<ChosenImage> {
  const sha256 = scope.config.image.sha256 || undefined;
  await checkFile(scope, disk, path);
  if (sha256 !== undefined) await verifyFile(scope.host, path, sha256, scope.signal);
  return { kind: 'file', path, sha256, because };
}

/** @throws AgentError `image.file-missing`, and those of `refuseUnfit` */
async function checkFile(
  { host, signal }: WebScope,
  disk: TargetDisk,
  path: string,
): Promise<void> {
  if ((await host.realPath(path, signal)) === undefined) throw imageFileMissing(path);
  refuseUnfit(await readBytes({ host, signal }, path, headBytes), path, disk);
}

async function checkUrl(
  { web, signal }: WebScope,
  disk: TargetDisk,
  url: SecretUrl,
  tlsOnly: boolean,
): Promise<void> {
  const request = { peer: 'the server of the image', signal, tlsOnly };
  refuseUnfit(await headOfUrl(web, url.reveal(), request), String(url), disk);
}

/**
 * Finds the image of a stream. An image newer than the cluster would have to be downgraded, which
 * is not supported; an older one is updated when the node joins.
 */
async function findStreamImage(
  scope: WebScope,
  disk: TargetDisk,
  { location, because }: { readonly location: SecretUrl; readonly because: string },
): Promise<ChosenImage> {
  const { config, note } = scope;
  const { url, sha256, release, format, architecture } = await findInStream(
    scope,
    location,
    disk.sectorBytes,
  );
  const line = lineOfBuild(release);
  const cluster = lineOfVersion(givenVersion(config) ?? '');
  if (line !== undefined && cluster !== undefined && line !== cluster) {
    const sentence = `image ${release} is of ${line}, the cluster is ${cluster}`;
    const context = { release, line, cluster };
    if (compareLines(line, cluster) > 0)
      throw imageFailure('image.not-the-release', sentence, { context });
    note('warn', sentence, context);
  }
  await checkUrl(scope, disk, new SecretUrl(url), false);
  return {
    kind: 'url',
    url: shownUrl(url),
    source: 'stream',
    sha256: config.image.sha256 || sha256,
    because: `${because}: ${format} of ${release} for ${architecture}`,
  };
}

async function findOnMedium(
  scope: WebScope,
  disk: TargetDisk,
  because: string,
): Promise<ChosenImage> {
  const { host, config, signal, note } = scope;
  const offline = await host.list(offlineImages, signal);
  if (offline.length > 0)
    return { kind: 'live', because: `${because}, and the live medium has ${offline.join(', ')}` };
  for (const folder of mediumFolders) {
    const names = await host.list(folder, signal);
    const name = names.find(
      (one) => imageName.test(one) && /4k/i.test(one) === (disk.sectorBytes === 4096),
    );
    if (name === undefined) continue;
    const found = { path: `${folder}/${name}`, because: `${because}, and the live medium has it` };
    return findFile(scope, disk, found);
  }
  if (config.image.source === 'live') {
    throw imageFailure('image.no-live-image', 'the live medium has no image for this disk', {
      context: { disk: disk.path, sectorBytes: disk.sectorBytes },
    });
  }
  note('warn', 'no image on the live medium: coreos-installer will look for one itself', {
    hint: 'set image.url, image.file or image.stream',
  });
  return { kind: 'live', because: `${because}; coreos-installer looks for one itself` };
}

/** Folder of the live system of CoreOS from which coreos-installer builds its offline image. */
const offlineImages = '/run/coreos-installer/osmet';

/** Mount point of the live medium, and folders of images on it. */
const mediumFolders = ['/run/media/iso', '/run/media/iso/images', '/run/media/iso/coreos'];

/** `rhcos-metal.x86_64.raw.gz`, `fedora-coreos-…-metal4k.x86_64.raw.xz`. */
const imageName = /\.raw(\.(gz|xz|zst))?$/i;
