import type { WriterUse } from '../../lib/writer-args.ts';
import { asAgentError } from '../../engine/failures.ts';
import { registryConfigArgv } from '../../layering/build/container-tools.ts';
import { jsonIn } from '../../lib/json.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import { writesDisk } from '../conditions.ts';
import { parseConfig } from '../../ignition/parse.ts';
import { secretsInIgnition } from '../../layering/registry/log-secrets.ts';
import { ifGiven } from '../../engine/fact.ts';
import { TargetDisk } from '../disk/facts.ts';
import { refuseWipes } from '../disk/kept.ts';
import { readWriterSetup, unreadable, usesIn, valueOf } from '../disk/writer-args.ts';
import { inspectArgv, readInspected } from '../../os/registry-image.ts';
import { HostIgnition, refuseOtherHash } from '../ignition/fetch-host.ts';
import { authFile } from './overwrite-argv.ts';
import { ignitionFileMissing } from '../ignition/failures.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { chooseImageSource, explainImage, type ImageRequest, whyUnverified } from './source.ts';
import { ChosenImage } from './facts.ts';
import { refuseUnfit, headOfFile, headOfUrl, verifyFile } from './image-file.ts';
import {
  compareLines,
  lineOfBuild,
  lineOfCluster,
  readNodeImage,
  refuseOtherRelease,
  renderLine,
} from './release.ts';
import {
  checkKeyfiles,
  keyfilesArgv,
  makeFolderArgv,
  nmcliArgv,
  nmstateArgv,
  readNmstate,
  writeNmstate,
} from './network.ts';
import { SecretUrl } from '../../lib/secret-url.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import { imageFailure, imageFileMissing } from './failures.ts';
import { findInStream, needsVerifying, type StreamImage } from './stream.ts';
import { readArchitecture, readTextOr, unreadableOutput } from '../host-commands.ts';

/**
 * Chooses where the operating system comes from and looks whether it is there and fits, while the
 * disk is still as it was.
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
  requires: [chooseImageSource],
  explain: explainImage,
  preview: ({ network: { nmstate } }) => [
    ...(nmstate === '' ? [] : [nmstateArgv(nmstate)]),
    ...callsOf('find', 'od', 'sha256sum', 'uname'),
  ],
  run: async (scope, { disk }) => {
    const { uses } = await readWriterSetup(scope);
    const request = chooseImageSource(scope.config, uses);
    const unverified = whyUnverified(scope.config, request, uses);
    if (unverified !== undefined) {
      scope.note('warn', `nothing verifies the image: ${unverified}`, {
        hint: 'set image.sha256, or take the image by https',
      });
    }
    await checkNodeImage(scope);
    await checkWriterFiles({ scope, disk }, uses);
    await checkKeyfiles(scope);
    if (scope.config.network.nmstate !== '') await readNmstate(scope);
    const image = await findImage({ scope, disk }, request);
    scope.note('info', 'the operating system image is chosen', {
      source: image.kind,
      ...('path' in image ? { path: image.path } : {}),
      ...('url' in image ? { url: image.url } : {}),
      because: image.because,
    });
    return image;
  },
});

/**
 * Checks what needs the Ignition of this host, or the pull secret that it brings, right before the
 * first loss.
 */
export const checkInputs = step({
  id: 'image/check-inputs',
  title: 'Check what else the write needs',
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
    if (hash !== undefined && own === undefined) refuseOtherHash(ignition, { origin, hash });
  },
});

/**
 * What the kernel says of the first clock of the hardware: seconds since 1970 (Linux,
 * `sysfs-class-rtc`).
 */
const hardwareClock = '/sys/class/rtc/rtc0/since_epoch';

/**
 * The first boot begins by the clock of the hardware, and refuses certificates that are not valid
 * by it.
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

/** The Ignition that coreos-installer takes in place of that of this host. */
export const ignitionIn = (writerArgs: readonly string[]): string | undefined =>
  valueOf(usesIn(writerArgs), 'ignition-file', 'ignition');

/**
 * Where coreos-installer finds streams, and network settings, unless it is told (coreos-installer
 * 0.26, `src/source.rs`, `src/cmdline`).
 */
const streams = 'https://builds.coreos.fedoraproject.org/streams/';
export const networkFolder = '/etc/NetworkManager/system-connections';

/**
 * Opens what coreos-installer opens by itself, by its arguments and configuration files: an image,
 * Ignition in place of that of this host, network settings. It would fail when the disk is lost.
 * @throws AgentError `image.*`, `ignition.*`, `web.*`
 */
async function checkWriterFiles(search: Search, uses: readonly WriterUse[]): Promise<void> {
  const { scope, disk } = search;
  const { host, web, signal } = scope;
  const [path, url] = [valueOf(uses, 'image-file'), valueOf(uses, 'image-url')];
  const stream = valueOf(uses, 'stream');
  if (path !== undefined) await checkFile(search, path);
  if (url !== undefined) {
    const head = await headOfUrl(web, url, { signal, tlsOnly: needsVerifying(scope.config) });
    refuseUnfit(head, { origin: shownUrl(url), disk });
  }
  if (stream !== undefined) {
    const base = valueOf(uses, 'stream-base-url') ?? streams;
    const location = new SecretUrl(new URL(`${stream}.json`, base).href);
    await findStreamImage(search, { location, because: '--stream' });
  }
  // A configuration file cannot: that of this host is among the arguments.
  const own = ignitionIn(scope.config.image.writerArgs);
  if (own !== undefined) await checkIgnition(scope, { path: own, uses });
  const folder = valueOf(uses, 'network-dir') ?? networkFolder;
  if (valueOf(uses, 'copy-network') === undefined) return;
  // The keyfiles of nmstate are written right before the write.
  if (scope.config.network.nmstate !== '') return;
  if ((await host.realPath(folder, signal)) === undefined) {
    throw unreadable(folder, '--copy-network needs it, and it is not on the host');
  }
}

/**
 * coreos-installer takes the last Ignition file of its arguments, and compares its digest when the
 * image is written.
 */
async function checkIgnition(
  { host, signal, hide }: StepScope<'host'>,
  { path, uses }: { readonly path: string; readonly uses: readonly WriterUse[] },
): Promise<void> {
  const text = await readTextOr({ host, signal }, path, ignitionFileMissing);
  for (const secret of secretsInIgnition(text)) hide(secret);
  parseConfig(text);
  refuseOtherHash(text, { origin: path, hash: valueOf(uses, 'ignition-hash') });
}

async function checkNodeImage(scope: StepScope<'host' | 'web'>): Promise<void> {
  const { host, signal, config, note } = scope;
  const { nodeImage } = config.image;
  if (nodeImage === '') return;
  const architecture = await readArchitecture(scope);
  let inspected: string | undefined;
  try {
    const options = { signal, limit: minutes(2) };
    const { stdout } = await host.exec(registryConfigArgv({ image: nodeImage }), options);
    if (jsonIn(stdout) === undefined) {
      throw unreadableOutput('skopeo', `configuration of ${nodeImage}`, stdout);
    }
    inspected = stdout;
  } catch (error) {
    signal.throwIfAborted();
    const { code, message } = asAgentError(error);
    note('warn', 'the node image cannot be inspected; only its tag is checked', {
      image: nodeImage,
      code,
      reason: message,
    });
  }
  const image = readNodeImage(nodeImage, inspected);
  refuseOtherRelease(image, { architecture, line: lineOfCluster(config) });
}

interface Search {
  readonly scope: StepScope<'host' | 'web'>;
  readonly disk: TargetDisk;
}

/** Finds what a request names, and refuses what would fail later, when the disk is lost. */
function findImage(search: Search, request: ImageRequest): Promise<ChosenImage> {
  switch (request.kind) {
    case 'writer-args':
      return Promise.resolve(request);
    case 'file':
      return findFile(search, request);
    case 'url':
      return findUrl(search, request);
    case 'stream':
      return findStreamImage(search, request);
    case 'live':
      return findOnMedium(search, request);
  }
}

async function findFile(
  { scope, disk }: Search,
  { path, because }: { readonly path: string; readonly because: string },
): Promise<ChosenImage> {
  const { host, signal, config } = scope;
  await checkFile({ scope, disk }, path);
  const { sha256 } = config.image;
  if (sha256 === '') return { kind: 'file', path, because };
  await verifyFile(host, { path, sha256 }, signal);
  return { kind: 'file', path, sha256, because };
}

/** @throws AgentError `image.file-missing`, and what `refuseUnfit` refuses */
async function checkFile({ scope, disk }: Search, path: string): Promise<void> {
  const { host, signal } = scope;
  if ((await host.realPath(path, signal)) === undefined) throw imageFileMissing(path);
  refuseUnfit(await headOfFile(host, path, signal), { origin: path, disk });
}

async function findUrl(
  { scope, disk }: Search,
  { url, because }: { readonly url: SecretUrl; readonly because: string },
  stored?: string,
): Promise<ChosenImage> {
  const shown = String(url);
  const source = stored === undefined ? 'config' : 'stream';
  const sha256 = scope.config.image.sha256 || (stored ?? '');
  const tlsOnly = stored === undefined && needsVerifying(scope.config);
  const head = await headOfUrl(scope.web, url.reveal(), { signal: scope.signal, tlsOnly });
  refuseUnfit(head, { origin: shown, disk });
  return { kind: 'url', url: shown, source, because, ...(sha256 === '' ? {} : { sha256 }) };
}

async function findStreamImage(
  search: Search,
  { location, because }: { readonly location: SecretUrl; readonly because: string },
): Promise<ChosenImage> {
  const { scope, disk } = search;
  const image = await findInStream(scope, { location, sectorBytes: disk.sectorBytes });
  holdAgainstRelease(search, image);
  const what = `${image.format} of ${image.release} for ${image.architecture}`;
  const found = { url: new SecretUrl(image.url), because: `${because}: ${what}` };
  return findUrl(search, found, image.sha256);
}

/**
 * An image that is newer than the cluster would have to go back, which is not supported; an older
 * one is brought up to date when the node joins.
 */
function holdAgainstRelease({ scope }: Search, { release }: StreamImage): void {
  const line = lineOfBuild(release);
  const cluster = lineOfCluster(scope.config);
  if (line === undefined || cluster === undefined) return;
  const difference = compareLines(line, cluster);
  const sentence = `image ${release} is of ${renderLine(line)}, the cluster is ${renderLine(cluster)}`;
  const context = { release, line: renderLine(line), cluster: renderLine(cluster) };
  if (difference > 0) throw imageFailure('image.not-the-release', sentence, { context });
  if (difference < 0) scope.note('warn', sentence, context);
}

async function findOnMedium(
  search: Search,
  { isAsked, because }: { readonly isAsked: boolean; readonly because: string },
): Promise<ChosenImage> {
  const { scope, disk } = search;
  const { host, signal, note } = scope;
  const offline = await host.list(offlineImages, signal);
  if (offline.length > 0) {
    return { kind: 'live', because: `${because}, and the live medium has ${offline.join(', ')}` };
  }
  for (const folder of mediumFolders) {
    const name = imageAmong(await host.list(folder, signal), disk.sectorBytes);
    if (name === undefined) continue;
    const path = `${folder}/${name}`;
    return findFile(search, { path, because: `${because}, and the live medium has it` });
  }
  if (isAsked) {
    throw imageFailure('image.no-live-image', 'the live medium has no image for this disk', {
      context: { disk: disk.path, sectorBytes: disk.sectorBytes },
    });
  }
  note('warn', 'no image on the live medium: coreos-installer will look for one itself', {
    hint: 'set image.url, image.file or image.stream',
  });
  return { kind: 'live', because: `${because}; coreos-installer looks for one itself` };
}

/** Where the live system of CoreOS keeps what coreos-installer makes its image from. */
const offlineImages = '/run/coreos-installer/osmet';

/** Where the live medium is mounted, and where images lie on it. */
const mediumFolders = ['/run/media/iso', '/run/media/iso/images', '/run/media/iso/coreos'];

/** `rhcos-metal.x86_64.raw.gz`, `fedora-coreos-…-metal4k.x86_64.raw.xz`. */
const imageName = /\.raw(\.(gz|xz|zst))?$/i;

function imageAmong(names: readonly string[], sectorBytes: number): string | undefined {
  const images = names.filter((name) => imageName.test(name));
  const is4k = (name: string): boolean => /4k/i.test(name);
  return images.find((name) => is4k(name) === (sectorBytes === 4096));
}
