// Prints the output of the real tool (coreos-installer 0.26): everything on stderr, lines that end
// with a line feed because stderr is no terminal.
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Call, fail, type Program, type Programs, sortWords, type Words } from '../call.ts';
import { type Device, mountpointsOf } from '../devices.ts';
import { coreosPartitions, partitionsFor, renumbered } from '../disk-layout.ts';
import { textOf } from '../files.ts';
import type { Machine } from '../machine.ts';
import { askAs } from '../way-out.ts';

const withValue = [
  ...['-i', '--ignition-file', '-I', '--ignition-url', '-u', '--image-url', '-f', '--image-file'],
  ...['--append-karg', '--delete-karg', '--network-dir', '--save-partlabel', '--save-partindex'],
  ...['-p', '--platform', '-s', '--stream', '-a', '--architecture', '--console', '-c'],
  ...[
    '--config-file',
    '--firstboot-args',
    '--ignition-hash',
    '--stream-base-url',
    '--fetch-retries',
  ],
];

/** Options without a value (coreos-installer 0.26). */
const flags = [
  ...['--insecure', '--insecure-ignition', '--offline', '--preserve-on-error', '--secure-ipl'],
  ...['-n', '--copy-network'],
];

/** The first option that is unknown to the real tool, exactly as given, including a value in it. */
const unknownIn = (words: readonly string[]): string | undefined =>
  words.find((word, at) => {
    if (!word.startsWith('-') || withValue.includes(words[at - 1] ?? '')) return false;
    const [option = ''] = word.split('=');
    return ![...withValue, ...flags].includes(option);
  });

const coreosInstaller: Program = async (machine, call) => {
  const [verb, ...rest] = call.argv.slice(1);
  if (verb === '--version') {
    call.out('coreos-installer 0.26.0\n');
    return 0;
  }
  const words = sortWords(rest, withValue);
  const [path = ''] = words.rest;
  const unknown = unknownIn(rest);
  if (unknown !== undefined) {
    return fail(call, `error: unexpected argument '${unknown}' found`, 2);
  }
  if (verb !== 'install' || words.rest.length !== 1) {
    return fail(call, 'error: the following required arguments were not provided:\n  <DEVICE>', 2);
  }
  const ignition = readIgnition(machine, words);
  if (ignition === undefined) {
    return fail(
      call,
      'Error: opening source Ignition config\n\nCaused by:\n    No such file or directory (os error 2)',
    );
  }
  const disk = machine.devices.byPath(path);
  if (disk === undefined) {
    return fail(
      call,
      `Error: opening ${path}\n\nCaused by:\n    No such file or directory (os error 2)`,
    );
  }
  const busy = busyLines(machine, disk);
  if (busy.length > 0) {
    return fail(
      call,
      `Partitions in use on ${path}:\n${busy.join('\n')}\nError: checking for exclusive access to ${path}\n\nCaused by:\n    found busy partitions`,
    );
  }
  return write({ machine, call, words, disk }, { ignition, writerArgs: rest });
};

function readIgnition({ files }: Machine, words: Words): string | undefined {
  const [path] = words.all('-i', '--ignition-file');
  if (path === undefined) return '';
  return textOf(files, path);
}

function busyLines({ devices }: Machine, disk: Device): readonly string[] {
  return devices.childrenOf(disk).flatMap((partition) => {
    const holders = devices.childrenOf(partition).map(({ kname }) => `/dev/${kname}`);
    const path = `    /dev/${partition.kname}`;
    return [
      ...mountpointsOf(devices, partition).map((point) =>
        point === '[SWAP]' ? `${path} is swap device` : `${path} mounted on ${point}`,
      ),
      ...holders.map((holder) => `${path} in use by ${holder}`),
    ];
  });
}

interface Write {
  readonly machine: Machine;
  readonly call: Call;
  readonly words: Words;
  readonly disk: Device;
}

interface Installed {
  readonly ignition: string;
  readonly writerArgs: readonly string[];
}

async function write(of: Write, installed: Installed): Promise<number> {
  const { machine, call, words, disk } = of;
  const { devices } = machine;
  const source = imageSource(machine, call, words);
  call.err(source.announcement);
  if (words.has('--insecure'))
    call.err('Signature not found; skipping verification as requested\n');
  // From here on the old table is lost in any case.
  const kept = savedPartitions(machine, words, disk);
  devices.remove(...devices.childrenOf(disk).filter((one) => !kept.includes(one)));
  disk.content = undefined;
  disk.table = 'gpt';
  machine.installed = undefined;
  try {
    await copy(of, source.read());
  } catch (error) {
    call.signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    return fail(
      call,
      `\nError: copying image\n\nCaused by:\n    ${reason}\n\nResetting partition table\nError: install failed`,
    );
  }
  mergeTables({ machine, call, disk, kept });
  await sleep(machine.writer.flushSeconds * 1000, undefined, { signal: call.signal });
  if (installed.ignition !== '') call.err('Writing Ignition config\n');
  if (words.has('--append-karg', '--delete-karg')) call.err('Modifying kernel arguments\n');
  if (words.has('-n', '--copy-network')) {
    call.err('Copying networking configuration from /etc/NetworkManager/system-connections/\n');
  }
  call.err('Install complete.\n');
  machine.installed = { disk: disk.kname, ...installed };
  return 0;
}

/**
 * `SavedPartitions::new` of coreos-installer 0.26 (`src/blockdev.rs`): without a match nothing is
 * saved.
 */
function savedPartitions({ devices }: Machine, words: Words, disk: Device): readonly Device[] {
  const valuesOf = (name: string): readonly string[] =>
    words.all(name).flatMap((value) => value.split(','));
  const globs = valuesOf('--save-partlabel').map(globOf);
  const ranges = valuesOf('--save-partindex').map((range) => {
    const [from = '', to = from] = range.split('-');
    return [Number(from), to === '' ? Infinity : Number(to)] as const;
  });
  return devices.childrenOf(disk).filter(({ entry }) => {
    if (entry === undefined || disk.table !== 'gpt') return false;
    const { number, label } = entry;
    const isInRange = ranges.some(([from, to]) => from <= number && number <= to);
    return isInRange || globs.some((glob) => glob.test(label));
  });
}

/** A pattern with `*`, `?` and `[a-z]` (crate `glob`). */
const globOf = (glob: string): RegExp =>
  new RegExp(
    `^${glob
      .replaceAll(/[\\^$.|+(){}]/g, String.raw`\$&`)
      .replaceAll('*', '.*')
      .replaceAll('?', '.')
      .replaceAll('[!', '[^')}$`,
    's',
  );

/**
 * `SavedPartitions::merge`: a saved partition gets a number after those of the image, or keeps its
 * number if that is larger.
 */
function mergeTables({
  machine: { devices },
  call,
  disk,
  kept,
}: Omit<Write, 'words'> & { readonly kept: readonly Device[] }): void {
  let next = Math.max(...coreosPartitions.map(({ number }) => number)) + 1;
  devices.remove(...kept);
  devices.add(...partitionsFor(disk, coreosPartitions));
  for (const one of kept.toSorted((a, b) => numberOf(a) - numberOf(b))) {
    next = Math.max(next, numberOf(one));
    const label = one.entry?.label ?? '';
    call.err(`Saving partition ${numberOf(one)} ("${label}") to new partition ${next}\n`);
    devices.add(renumbered(disk, one, next));
    next += 1;
  }
}

const numberOf = ({ entry }: Device): number => entry?.number ?? 0;

async function copy(
  { machine, call, disk }: Write,
  source: AsyncIterable<ReadSoFar>,
): Promise<void> {
  const { writer } = machine;
  const [failsAt] = writer.failsAtPercent;
  let lineDue = 0;
  for await (const read of source) {
    const percent = read.total === undefined ? 0 : Math.floor((read.bytes * 100) / read.total);
    if (failsAt !== undefined && percent >= failsAt) {
      writer.failsAtPercent = writer.failsAtPercent.slice(1);
      logWriteError(machine, disk, read.bytes);
      throw new Error('Input/output error (os error 5)');
    }
    if (Date.now() < lineDue && percent < 100) continue;
    lineDue = Date.now() + writer.lineMillis / 2;
    call.err(`${progressLine(read, percent)}\n`);
  }
}

/** The kernel log of a disk that refuses a write (block/blk-mq.c, drivers/scsi, fs/buffer.c). */
function logWriteError({ journal }: Machine, { kname }: Device, bytes: number): void {
  const page = Math.floor(bytes / 4096);
  const lines = [
    `sd 0:0:0:0: [${kname}] tag#12 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_OK cmd_age=2s`,
    `sd 0:0:0:0: [${kname}] tag#12 Sense Key : Medium Error [current]`,
    `sd 0:0:0:0: [${kname}] tag#12 Add. Sense: Write error - auto reallocation failed`,
    `I/O error, dev ${kname}, sector ${page * 8} op 0x1:(WRITE) flags 0x4800 phys_seg 128 prio class 2`,
    `Buffer I/O error on dev ${kname}, logical block ${page}, lost async page write`,
  ];
  journal.push(
    ...lines.map((text) => ({ at: Date.now(), unit: 'kernel', text: `kernel: ${text}` })),
  );
}

function progressLine({ bytes, total }: ReadSoFar, percent: number): string {
  return total === undefined
    ? `Read disk ${inUnits(bytes)}`
    : `Read disk ${inUnits(bytes)}/${inUnits(total)} (${percent}%)`;
}

/** A size with one decimal and a binary unit, in the format of the tool. */
function inUnits(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1);
  return `${(bytes / 1024 ** power).toFixed(1)} ${units[power] ?? 'B'}`;
}

/** The image writer of the host. */
export const writerPrograms: Programs = { 'coreos-installer': coreosInstaller };

/** Progress of reading an image. */
interface ReadSoFar {
  readonly bytes: number;
  /** Undefined if the server sent no length. */
  readonly total: number | undefined;
}

/** The source of the image: its first output line, and the function that reads it. */
interface ImageSource {
  readonly announcement: string;
  readonly read: () => AsyncIterable<ReadSoFar>;
}

const MEBIBYTE = 2 ** 20;

/**
 * Chooses the source in the order of coreos-installer: URL, file, the offline image of the live
 * medium.
 */
function imageSource(machine: Machine, call: Call, words: Words): ImageSource {
  const [url] = words.all('--image-url', '-u');
  const [file] = words.all('--image-file', '-f');
  if (url !== undefined) {
    return {
      announcement: `Downloading image from ${url}\nDownloading signature from ${url}.sig\n`,
      read: () => download(machine, call, url),
    };
  }
  if (file !== undefined) {
    return {
      announcement: `Copying image from ${file}\nReading signature from ${file}.sig\n`,
      read: async function* () {
        const { size } = statSync(machine.files.real(file));
        yield* timed(machine, call, size);
      },
    };
  }
  return {
    announcement: 'Installing Lab CoreOS x86_64 (512-byte sectors)\n',
    read: () => timed(machine, call, machine.writer.mebibytes * MEBIBYTE),
  };
}

async function* download({ network }: Machine, call: Call, url: string): AsyncGenerator<ReadSoFar> {
  if (network !== undefined) {
    const { length } = await askAs(network, call, { url, words: ['--fail'] });
    for (const part of [1, 2, 3]) yield { bytes: (length * part) / 3, total: length };
    return;
  }
  const answer = await fetch(url, { signal: call.signal });
  if (!answer.ok || answer.body === null)
    throw new Error(`fetching '${url}': HTTP ${answer.status}`);
  const length = answer.headers.get('content-length');
  const total = length === null ? undefined : Number(length);
  let bytes = 0;
  for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    yield { bytes, total };
  }
}

async function* timed(
  { writer }: Machine,
  { signal }: Call,
  total: number,
): AsyncGenerator<ReadSoFar> {
  const steps = Math.max(1, Math.round((writer.seconds * 1000) / writer.lineMillis));
  for (let step = 1; step <= steps; step += 1) {
    await sleep((writer.seconds * 1000) / steps, undefined, { signal });
    yield { bytes: (total * step) / steps, total };
  }
}
