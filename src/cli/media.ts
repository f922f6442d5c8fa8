import { chmod, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { readFileOf } from '../adapters/file-access.ts';
import { localHost } from '../adapters/host/local-host.ts';
import { flagFailure } from '../config/failures.ts';
import { notRead, readNamed, readNamedBytes, writerFiles } from '../config/files.ts';
import { findInConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { type Layer, textIn } from '../config/settings.ts';
import { parseValidConfig } from '../ignition/parse.ts';
import { mergePullSecrets } from '../layering/registry/credentials.ts';
import { authorityProblem } from '../lib/certificates.ts';
import { readImageName } from '../lib/image-name.ts';
import { keyfileProblems } from '../settings/keyfiles.ts';
import { shownText } from '../lib/shown-url.ts';
import { minutes } from '../model/duration.ts';
import { AgentError, failuresOf, type FailureTable } from '../model/failure.ts';
import { imageFailure } from '../steps/image/failures.ts';
import { scriptProblem } from '../steps/image/hooks.ts';
import { badAuthorities } from '../steps/host/failures.ts';
import { renderFindings, withRefusals } from './config.ts';
import {
  disksOf,
  type MediumFileKey,
  mediumFileKeys,
  type MediumItem,
  mediumOf,
} from './medium.ts';
import { exitCodeOf, print, printError, printJson, printNote } from './messages.ts';
import { untilStopped } from './stop-signal.ts';

/** Failures of making a medium; none of them leaves a file behind. */
export const mediaFailures = {
  'media.already-customized': {
    kind: 'input',
    title: 'The live image is customized already',
    hint: 'give the image as it was downloaded; "coreos-installer iso reset" restores an ISO',
  },
  'media.no-initramfs': {
    kind: 'input',
    title: 'A directory does not hold one live initramfs',
    hint: 'give the directory that coreos-installer download --format pxe, or iso extract pxe, has written, with the files of one release',
  },
  'media.no-installer': {
    kind: 'host',
    title: 'This machine has no coreos-installer',
    hint: 'install coreos-installer, for example with dnf install coreos-installer or cargo install coreos-installer, and run the same "bootwright media" line again',
  },
  'media.no-network': {
    kind: 'unsupported',
    title: 'The live image does not support keyfiles',
    hint: 'use the live image of OpenShift 4.10 or newer, or leave network.keyfiles out and give the network as kernel arguments',
  },
  'media.not-live': {
    kind: 'input',
    title: 'The file is not a live image of CoreOS',
    hint: 'give the live ISO, or the live initramfs, of RHEL CoreOS, CentOS Stream CoreOS or Fedora CoreOS',
  },
  'media.not-made': {
    kind: 'host',
    title: 'A medium cannot be made',
    hint: 'read the reason in the message; the directory of --out needs as much space as the live image',
  },
  'media.no-script': {
    kind: 'input',
    title: 'A hook for a medium is not a script',
    hint: 'write a script that begins with #!; it can run the programs of the live system',
  },
  'media.out-exists': {
    kind: 'input',
    title: 'The file of the medium exists already',
    hint: 'remove it, or give another name with --out',
  },
  'media.too-large': {
    kind: 'input',
    title: 'The contents of the medium do not fit',
    hint: 'a live ISO has room for 256 KiB, compressed: serve the Ignition with ignition.url, or give --pxe, which has no such limit',
  },
} as const satisfies FailureTable;

const mediaFailure = failuresOf(mediaFailures);

/** Arguments of `media`. */
export interface MediaCall {
  readonly config: readonly string[];
  /** The live ISO; or `pxe`, the directory with the live initramfs. */
  readonly iso?: string;
  readonly pxe?: string;
  readonly out: string;
  /** Pull spec of the agent; default: the image that this program runs in. */
  readonly image?: string;
  readonly authfile?: string;
  readonly sshKey?: string;
  readonly format: string;
}

/**
 * Makes the live medium from which one host installs itself as its settings say, and prints its
 * contents. With mistakes in the settings, prints them all and resolves with the exit code of the
 * first.
 * @throws AgentError `media.*`, `registries.bad-ca`, `cli.bad-flag`, `config.file-not-read`,
 * `ignition.*`, `layering.bad-credentials`, `network.bad-keyfile`
 */
export async function runMedia(call: MediaCall): Promise<number> {
  const { out, iso, pxe } = call;
  if ((iso === undefined) === (pxe === undefined))
    throw flagFailure('cli.bad-flag', '`media`: one of --iso and --pxe is needed', {
      hint: 'give --iso FILE, the live ISO, or --pxe DIR, where the live initramfs is',
    });
  const input = iso === undefined ? await initramfsIn(pxe ?? '') : resolve(iso);
  const found = await findInConfig(
    call.config.flatMap((file) => ['--config', file]),
    {},
  );
  const { config, inFiles: settings } = found;
  const mistakes = withRefusals(found.mistakes, config);
  if (mistakes[0] !== undefined) {
    printError(renderFindings(mistakes));
    return exitCodeOf(mistakes[0]);
  }
  const image = imageOf(call, config);
  const folder = textIn(settings, 'network.keyfiles');
  const keyfiles = await readKeyfiles(folder);
  const medium = mediumOf({
    settings,
    config,
    image,
    keyfiles,
    texts: await readTexts(settings),
    pullSecret: await pullSecretIn(call),
    sshAuthorizedKeys: await sshKeysIn(call),
  });
  const noteMissing = (what: string): void =>
    printNote('note', `${what} is a path on the live system: it is not in the medium`);
  // An install opens these files on the live system, where Ignition or the agent's own image puts
  // them.
  for (const key of ['image.file', 'image.stream'] as const)
    if (textIn(settings, key).startsWith('/')) noteMissing(key);
  for (const { option, value } of writerFiles({ config, given: settings }))
    noteMissing(`image.writerArgs: --${option}: ${shownText(value)}`);
  const argv = ['coreos-installer', iso === undefined ? 'pxe' : 'iso', 'customize'];
  for (const name of keyfiles.keys()) argv.push('--network-keyfile', resolve(folder, name));
  const exitCode = await write(out, argv, input, medium.ignition);
  if (exitCode !== 0) return exitCode;
  // The kernel needs these arguments to read the Ignition in the initramfs; an ISO has them
  // already.
  const kernelArguments =
    iso === undefined ? ['ignition.firstboot', 'ignition.platform.id=metal'] : [];
  const { items } = medium;
  const { role } = config;
  const disks = disksOf(config);
  const document = { v: 1, out, image, role, disks, items, kernelArguments };
  if (call.format === 'json') printJson(document);
  else print(renderMedium(document));
  return 0;
}

async function initramfsIn(folder: string): Promise<string> {
  const entries = await readdir(folder).catch((cause: unknown) => {
    throw mediaFailure('media.no-initramfs', `${folder} cannot be read`, { cause });
  });
  // coreos-installer names the file so: `download` live-initramfs.ARCH.img, `iso extract pxe`
  // NAME-initrd.img.
  const names = entries.filter((name) => /init(?:ramfs|rd)/.test(name) && name.endsWith('.img'));
  const [name] = names;
  if (name !== undefined && names.length === 1) return resolve(folder, name);
  const what = name === undefined ? 'no initramfs' : `more than one: ${names.join(', ')}`;
  throw mediaFailure('media.no-initramfs', `${folder} holds ${what}`);
}

function imageOf({ image }: MediaCall, config: Config): string {
  const chosen = image ?? config.images.self;
  if (readImageName(chosen) !== undefined) return chosen;
  const what = chosen === '' ? 'is not known' : `is no name of an image: ${shownText(chosen)}`;
  throw flagFailure('cli.bad-flag', `\`media\`: the image of the agent ${what}`, {
    hint: 'give --image registry.example.com/bootwright:TAG, which the host can pull',
  });
}

async function readTexts(settings: Layer): Promise<ReadonlyMap<MediumFileKey, Buffer>> {
  const texts = new Map<MediumFileKey, Buffer>();
  for (const key of mediumFileKeys) {
    const path = textIn(settings, key);
    const { origin } = settings.get(key) ?? {};
    if (path === '' || origin === undefined) continue;
    const text = await readNamedBytes({ path, kind: 'host', origin: `${origin}: ${key}` });
    if (key.startsWith('hooks.')) {
      const script = text.toString('latin1');
      const problem = script.startsWith('#!') ? scriptProblem(script) : 'does not begin with #!';
      if (problem !== undefined)
        throw mediaFailure('media.no-script', `${origin}: ${key}: ${path} ${problem}`);
    }
    texts.set(key, text);
  }
  // A host that installs itself has no service to ask.
  const ignition = texts.get('ignition.file');
  if (ignition !== undefined) parseValidConfig(ignition);
  const authorities = texts.get('registries.ca')?.toString();
  const problem = authorities === undefined ? undefined : authorityProblem(authorities, Date.now());
  if (problem !== undefined) throw badAuthorities(textIn(settings, 'registries.ca'), problem);
  return texts;
}

async function readKeyfiles(folder: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  if (folder === '') return files;
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause: unknown) => {
    throw imageFailure('network.bad-keyfile', `${folder} cannot be read`, { cause });
  });
  for (const name of entries.filter((entry) => !entry.isDirectory()).map((entry) => entry.name)) {
    const at = join(folder, name);
    const bytes = await readFileOf({ at, kind: 'settings', whose: 'host' }).catch(notRead(at));
    files.set(name, bytes.toString());
  }
  const problems = keyfileProblems(files);
  if (problems.length === 0) return files;
  throw imageFailure('network.bad-keyfile', `${folder}: ${problems.join('; ')}`);
}

async function pullSecretIn({ authfile }: MediaCall): Promise<string | undefined> {
  if (authfile === undefined) return undefined;
  const text = await readNamed({ path: authfile, kind: 'secret', origin: 'option --authfile' });
  mergePullSecrets([{ from: authfile, text }]);
  return text;
}

/**
 * A line of sshd(8), "AUTHORIZED_KEYS FILE FORMAT": options, type and key; every key begins with
 * the length of its type.
 */
const publicKey = /^[^#]*?\b(?:ssh|ecdsa|sk)-[a-z][\w@.-]{0,60} +AAAA/;

async function sshKeysIn({ sshKey }: MediaCall): Promise<readonly string[]> {
  if (sshKey === undefined) return [];
  const text = await readNamed({ path: sshKey, kind: 'settings', origin: 'option --ssh-key' });
  const keys = text.split('\n').filter((line) => publicKey.test(line));
  if (keys.length > 0 && !text.includes('PRIVATE KEY')) return keys.map((line) => line.trim());
  throw flagFailure('cli.bad-flag', `--ssh-key: ${sshKey} holds no public key`, {
    hint: 'give the file with the public key, ~/.ssh/id_ed25519.pub for example',
  });
}

/** Time for a slow disk and an ISO of two gigabytes. */
const longestCopy = minutes(30);

/**
 * Writes the medium whole or not at all, readable only by its owner. Resolves with the exit code of
 * a signal, or 0.
 */
async function write(
  out: string,
  command: readonly string[],
  input: string,
  ignition: string,
): Promise<number> {
  const refuseExisting = async (): Promise<void> => {
    if ((await stat(out).catch(() => undefined)) !== undefined)
      throw mediaFailure('media.out-exists', `${out} is there already`);
  };
  await refuseExisting();
  const source = await stat(input).catch((cause: unknown) => {
    throw mediaFailure('media.not-live', `${input} cannot be read`, { cause });
  });
  if (!source.isFile() && !source.isBlockDevice())
    throw mediaFailure('media.not-live', `${input} is neither a file nor a disk`);
  const notMade = (cause: unknown): never => {
    throw mediaFailure('media.not-made', `${out} cannot be written`, { cause });
  };
  const target = resolve(out);
  const scratch = await mkdtemp(join(dirname(target), '.bootwright-media-')).catch(notMade);
  return untilStopped(async (signal) => {
    try {
      const live = join(scratch, 'live.ign');
      const made = join(scratch, basename(target));
      await writeFile(live, ignition, { mode: 0o600 });
      const argv = [...command, '--live-ignition', live, '--output', made, input];
      await localHost().exec(argv, { signal, limit: longestCopy });
      await chmod(made, 0o600);
      await refuseExisting();
      await rename(made, target);
      return 0;
    } catch (thrown) {
      if (thrown instanceof AgentError) throw customizeFailure(thrown, input);
      return notMade(thrown);
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  });
}

/** Messages of coreos-installer (`src/live` of 0.26.0), and their failures. */
const refusals: readonly (readonly [RegExp, keyof typeof mediaFailures, string])[] = [
  [/already customized/, 'media.already-customized', 'is customized already'],
  [/initramfs is too large/, 'media.too-large', 'has no room for what is to be inside'],
  [/not support customizing network/, 'media.no-network', 'takes no keyfiles'],
  [
    /Unrecognized CoreOS ISO|parsing ISO9660|not a CoreOS live initramfs|CPIO|reading\/copying input/,
    'media.not-live',
    'is no live image of CoreOS',
  ],
];

function customizeFailure(cause: AgentError, input: string): AgentError {
  if (cause.code === 'media.out-exists') return cause;
  if (cause.code === 'command.not-found')
    return mediaFailure('media.no-installer', 'coreos-installer is not on this machine', { cause });
  const said = String(cause.context['stderr'] ?? '');
  const [, code, what] = refusals.find(([pattern]) => pattern.test(said)) ?? [];
  return code === undefined
    ? mediaFailure('media.not-made', 'coreos-installer made no medium', { cause })
    : mediaFailure(code, `${input} ${what}`, { cause });
}

interface MediumDocument {
  readonly out: string;
  readonly role: string;
  readonly disks: string;
  readonly items: readonly MediumItem[];
  readonly kernelArguments: readonly string[];
}

function renderMedium({ out, role, disks, items, kernelArguments }: MediumDocument): string {
  const width = Math.max(...items.map(({ path }) => path.length));
  const lines = [
    `${out}: a host that starts from it is installed with role ${role}, without a question`,
    `everything on ${disks} is destroyed then`,
    '',
    ...items.map(
      ({ path, what, isSecret }) =>
        `  ${path.padEnd(width)}  ${isSecret ? 'secret' : '      '}  ${what}`,
    ),
    '',
    items.some(({ isSecret }) => isSecret)
      ? `${out} holds secrets: only you can read it; keep it so, and erase it after the installation`
      : `${out} holds no secret; only you can read it`,
  ];
  if (kernelArguments.length > 0)
    lines.push(`it needs the kernel arguments ${kernelArguments.join(' ')}`);
  return `${lines.join('\n')}\n`;
}
