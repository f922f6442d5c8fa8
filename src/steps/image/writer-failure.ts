import type { TargetDisk } from '../disk/facts.ts';
import type { AgentError } from '../../model/failure.ts';
import { imageRelayFailure, imageRelayFailures } from '../../ports/image-relay.ts';
import { diskFailure, diskFailures } from '../disk/failures.ts';
import { imageFailure, type imageFailures } from './failures.ts';

/** A failure of the writer can be a failure of the disk or of the transfer of the image. */
type Code =
  keyof typeof imageFailures | keyof typeof imageRelayFailures | keyof typeof diskFailures;

/**
 * Messages of coreos-installer 0.5 to 0.26 and their meaning. The first match in its output counts:
 * messages of causes come before messages of consequences.
 */
const signatures: readonly { readonly pattern: RegExp; readonly code: Code }[] = [
  {
    pattern:
      /found busy partitions|device is in use|Disk in use|Device or resource busy|os error 16\b/,
    code: 'disk.busy',
  },
  { pattern: /couldn't find \/sys\/block directory for partition/, code: 'disk.busy' },
  { pattern: /source has sector size/, code: 'image.wrong-sector-size' },
  { pattern: /collision with /, code: 'image.collides' },
  { pattern: /No space left on device|os error 28\b/, code: 'image.too-large' },
  {
    pattern:
      /Broken pipe|GPG verification fail|BAD signature|gpg.{0,200}fail|signature.{0,200}not.{0,200}valid/i,
    code: 'image.bad-signature',
  },
  { pattern: /signature not found/, code: 'image.bad-signature' },
  { pattern: /udevd socket missing/, code: 'image.no-udev' },
  {
    pattern: /end of file before message length reached|unexpected EOF during chunk/i,
    code: 'image.cut',
  },
  {
    pattern: /connection (closed|reset)|error reading a body|error decoding response body/i,
    code: 'image.cut',
  },
  {
    pattern:
      /trailing data after|corrupt (deflate|gzip|xz)|invalid gzip|lzma|zstd|unexpected end of stream|failed to fill whole buffer|decoding first MiB/i,
    code: 'image.corrupt',
  },
  { pattern: /Input\/output error|os error 5\b/, code: 'image.disk-error' },
  {
    pattern: /couldn't find any partitions|couldn't find boot device/,
    code: 'image.no-boot-partition',
  },
  { pattern: /metadata missing/, code: 'image.no-live-image' },
  { pattern: /opening source image file/, code: 'image.file-missing' },
  {
    pattern: /fetching '|fetching image URL|image fetch failed|error sending request/,
    code: 'image.unreachable',
  },
  { pattern: /is not a block device|opening \/dev\/\S+$/m, code: 'disk.missing' },
];

/** Usage errors of the writer end with this (clap). */
const usageExit = 2;

/** Lines that only say that something failed, or that introduce a chain of causes. */
const empty =
  /^(Caused by:|Error: install failed|(Resetting|Clearing) partition table|Preserving partition)?$/;

/**
 * Converts a failed run of the writer to a failure with a code, with the writer's own message.
 * @param cause the failure of the command
 * @param disk its kernel path, and its serial number for the person who replaces it
 * @param lines of its output, without progress
 * @param isRelayUnasked the source was our own relay, and it received no request
 */
export function writerFailure(
  cause: AgentError,
  { path, serial }: Pick<TargetDisk, 'path' | 'serial'>,
  lines: readonly string[],
  isRelayUnasked: boolean,
): AgentError {
  const { exitCode } = cause.context;
  const text = lines.join('\n');
  let code = signatures.find(({ pattern }) => pattern.test(text))?.code ?? 'image.writer-failed';
  if (isRelayUnasked && (code === 'image.unreachable' || code === 'image.cut'))
    code = 'image.relay-unreachable';
  if (exitCode === usageExit) code = 'image.writer-arguments';
  const reason = reasonIn(lines) || 'coreos-installer gave no reason';
  const named = serial === '' ? path : `${path} (serial ${serial})`;
  const message = `write to ${named} failed: ${reason}`;
  const known = exitCode === undefined ? {} : { exitCode };
  const details = { cause, context: { disk: path, ...known, stderr: text.slice(-2048) } };
  if (isCodeOf(diskFailures, code)) return diskFailure(code, message, details);
  if (isCodeOf(imageRelayFailures, code)) return imageRelayFailure(code, message, details);
  return imageFailure(code, message, details);
}

const isCodeOf = <T extends object>(table: T, code: Code): code is Code & keyof T =>
  Object.hasOwn(table, code);

/** The first error with its causes and the indented lines above it, in one line. */
function reasonIn(lines: readonly string[]): string {
  const from = lines.findIndex((line) => /^(Error|error):/.test(line));
  const holders = lines.filter((line) =>
    / (mounted on|is swap device|in use by) |^dasdfmt: /.test(`${line} `),
  );
  const chain = from < 0 ? lines.slice(-2) : lines.slice(from);
  const end = chain.findIndex((line) =>
    /^(Resetting|Clearing|Preserving) partition table/.test(line),
  );
  return [...chain.slice(0, end < 0 ? chain.length : end), ...holders]
    .map((line) => line.trim().replace(/^(Error:|\d+:)\s*/, ''))
    .filter((line) => !empty.test(line))
    .slice(0, 6)
    .join(': ');
}
