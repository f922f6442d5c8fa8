import { changedFailure } from '../../engine/failures.ts';
import { type AgentError, failuresOf } from '../../model/failure.ts';
import { imageRelayFailures } from '../../ports/image-relay.ts';
import type { TargetDisk } from '../disk/facts.ts';
import { diskFailures } from '../disk/failures.ts';
import { imageFailures } from './failures.ts';

/** A failure of the writer can be a failure of the disk or of the transfer of the image. */
const codes = { ...imageFailures, ...imageRelayFailures, ...diskFailures };
const failed = failuresOf(codes);

/**
 * Messages of coreos-installer 0.15 to 0.26 and their meaning. The first match in its output
 * counts: messages of causes come before messages of consequences.
 */
const signatures: readonly (readonly [keyof typeof codes, RegExp])[] = [
  [
    'disk.busy',
    /found busy partitions|device is in use|Disk in use|Device or resource busy|os error 16\b|couldn't find \/sys\/block directory for partition/,
  ],
  ['image.wrong-sector-size', /source has sector size/],
  ['image.collides', /collision with /],
  ['image.too-large', /No space left on device|os error 28\b/],
  [
    'image.bad-signature',
    /Broken pipe|GPG verification fail|BAD signature|gpg.{0,200}fail|signature.{0,200}not.{0,200}valid/i,
  ],
  // In capitals it is a remark: "Signature not found; skipping verification as requested".
  ['image.bad-signature', /signature not found/],
  ['image.no-udev', /udevd socket missing/],
  [
    'image.cut',
    /end of file before message length reached|unexpected EOF during chunk|connection (closed|reset)|error reading a body|error decoding response body/i,
  ],
  [
    'image.corrupt',
    /trailing data after|corrupt (deflate|gzip|xz)|invalid gzip|lzma|zstd|unexpected end of stream|failed to fill whole buffer|decoding first MiB/i,
  ],
  ['image.disk-error', /Input\/output error|os error 5\b/],
  ['image.no-boot-partition', /couldn't find any partitions|couldn't find boot device/],
  ['image.no-live-image', /metadata missing/],
  ['image.file-missing', /opening source image file/],
  ['image.unreachable', /fetching '|fetching image URL|image fetch failed|error sending request/],
  ['disk.missing', /is not a block device|opening \/dev\/\S+$/m],
];

/** Usage errors of the writer end with this (clap). */
export const usageExit = 2;

/**
 * Converts a failed run of the writer to a failure with a code: the writer's own error is the
 * message, and the causes that it prints are the cause.
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
  const text = lines.join('\n');
  let code = signatures.find(([, pattern]) => pattern.test(text))?.[0] ?? 'image.writer-failed';
  if (isRelayUnasked && (code === 'image.unreachable' || code === 'image.cut'))
    code = 'image.relay-unreachable';
  if (cause.context['exitCode'] === usageExit) code = 'image.writer-arguments';
  const named = serial === '' ? path : `${path} (serial ${serial})`;
  const what = `write to ${named} failed: `;
  const [error, ...causes] = reasonsIn(lines);
  if (error === undefined) {
    // It was killed or has panicked: only the command's own failure says how it ended.
    const said = lines.map((line) => line.trim()).filter((line) => line !== '');
    const last = said.slice(-4).join(': ') || 'coreos-installer gave no reason';
    return failed(code, what + last, { cause, context: { disk: path, stderr: text.slice(-2048) } });
  }
  // The command's own message ends with the last line of the output: "Error: install failed".
  const reason = causes.join(': ') || error;
  return failed(code, what + error, {
    cause: changedFailure(cause, { message: reason }),
    context: { disk: path },
  });
}

/**
 * The first error with its causes, and the users of the disk, which are listed above it; nothing if
 * the writer ended without an error of its own.
 */
function reasonsIn(lines: readonly string[]): readonly string[] {
  const from = lines.findIndex((line) => /^error:/i.test(line));
  if (from < 0) return [];
  const chain = lines.slice(from);
  const end = chain.findIndex((line) => /^(Resetting|Preserving) partition table/.test(line));
  const users = lines.filter((line) =>
    / (mounted on|is swap device|in use by) |^dasdfmt: /.test(`${line} `),
  );
  return [...chain.slice(0, end < 0 ? undefined : end), ...users]
    .map((line) => line.trim().replace(/^(Error:|\d+:)\s*/, ''))
    .filter((line) => line !== '' && line !== 'Caused by:')
    .slice(0, 12);
}
