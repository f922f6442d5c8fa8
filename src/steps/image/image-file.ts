import { minutes, seconds } from '../../model/duration.ts';
import type { Host } from '../../ports/host.ts';
import { imageRelayFailure } from '../../ports/image-relay-failures.ts';
import { headBytes } from './sniff.ts';

/** Prints the digest of an image file on the host. */
export const digestArgv = (path: string): readonly string[] => ['sha256sum', '--', path];

/** Prints the beginning of an image file on the host, as hexadecimal bytes. */
export const headArgv = (path: string): readonly string[] => [
  'od',
  '--address-radix=n',
  '--format=x1',
  '--output-duplicates',
  '--width=64',
  `--read-bytes=${headBytes}`,
  path,
];

/** The bytes that `headArgv` printed. */
export const parseHead = (stdout: string): Uint8Array =>
  Buffer.from(stdout.replaceAll(/\s+/g, ''), 'hex');

/** Reads the beginning of an image file on the host. */
export async function readFileHead(
  host: Host,
  path: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const { stdout } = await host.exec(headArgv(path), { signal, limit: minutes(1) });
  return parseHead(stdout);
}

/** A slow medium reads 5 MB in a second; a compressed image has about 1 GB. */
const digestLimit = seconds(900);

/**
 * Holds an image file on the host against its digest.
 * @throws AgentError `image.wrong-digest`, `command.*`
 */
export async function verifyFile(
  host: Host,
  { path, sha256 }: { readonly path: string; readonly sha256: string },
  signal: AbortSignal,
): Promise<void> {
  const { stdout } = await host.exec(digestArgv(path), { signal, limit: digestLimit });
  // The digest of a name with a backslash or a line feed is printed behind a backslash.
  const actual = /^\\?([0-9a-f]{64})\s/.exec(stdout)?.[1] ?? '';
  if (actual === sha256) return;
  throw imageRelayFailure('image.wrong-digest', `${path} has another sha256 than expected`, {
    context: { origin: path, expected: sha256, actual },
  });
}
