import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { ignitionFailure } from './failures.ts';
import type { Config, File, Resource } from './types.ts';

/** Maximum size of decompressed content in a config; Ignition itself has no limit. */
const MAX_CONTENT_BYTES = 64 * 1024 * 1024;

/**
 * Decodes a resource that is embedded as a data URL. An empty source is empty content.
 *
 * @throws AgentError `ignition.no-source`, `ignition.remote-source`, and those of {@link
 * decodeContent}
 */
export function decodeResource(resource: Resource, maxBytes = MAX_CONTENT_BYTES): Uint8Array {
  const { source } = resource;
  if (source === undefined) throw ignitionFailure('ignition.no-source', 'resource has no source');
  if (source !== '' && !isDataUrl(source)) {
    throw ignitionFailure('ignition.remote-source', 'resource is not embedded as a data URL');
  }
  const bytes = source === '' ? new Uint8Array() : decodeDataUrl(source);
  return decodeContent(resource, bytes, maxBytes);
}

/**
 * Decodes the bytes from the source of a resource: decompresses them and then verifies the hash,
 * which covers the decompressed content.
 *
 * @throws AgentError `ignition.gzip`, `ignition.too-large`, `ignition.hash-mismatch`
 */
export function decodeContent(
  { compression, verification }: Pick<Resource, 'compression' | 'verification'>,
  bytes: Uint8Array,
  maxBytes = MAX_CONTENT_BYTES,
): Uint8Array {
  // An empty text is as no text (Ignition, `validateCompression`).
  if (!['', 'gzip'].includes(compression ?? ''))
    throw ignitionFailure('ignition.gzip', 'resource has a compression other than gzip');
  const content = compression === 'gzip' ? gunzip(bytes, maxBytes) : bytes;
  if (verification?.hash !== undefined) verifyHash(content, verification.hash);
  return content;
}

/** Whether bytes begin with the magic number of gzip (RFC 1952). */
export const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

/**
 * Decompresses gzip, with any number of members.
 *
 * @throws AgentError `ignition.gzip`, `ignition.too-large`
 */
export function gunzip(bytes: Uint8Array, maxBytes = MAX_CONTENT_BYTES): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: maxBytes });
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE') {
      throw ignitionFailure('ignition.too-large', 'resource is too large when decompressed', {
        context: { limitBytes: maxBytes },
        cause,
      });
    }
    throw ignitionFailure('ignition.gzip', 'resource is not gzip', { cause });
  }
}

function verifyHash(content: Uint8Array, expected: string): void {
  const hyphen = expected.indexOf('-');
  const algorithm = expected.slice(0, Math.max(hyphen, 0));
  if (algorithm !== 'sha256' && algorithm !== 'sha512') {
    throw ignitionFailure('ignition.hash-mismatch', 'resource has a hash of an unknown function');
  }
  const actual = createHash(algorithm).update(content).digest('hex');
  if (actual === expected.slice(hyphen + 1).toLowerCase()) return;
  throw ignitionFailure('ignition.hash-mismatch', 'resource does not match its hash', {
    context: { expected, actual: `${algorithm}-${actual}` },
  });
}

/** Printable ASCII without the delimiters that RFC 2396 calls unwise; `%` starts an escape. */
const PLAIN_DATA = /^(?:[!$&-;=?-Z_a-z~]|%[0-9a-fA-F]{2})*$/u;
const BASE64_DATA = /^[A-Za-z0-9+/]*={0,2}$/u;

/** Whether a source is a data URL, which embeds its content. */
export const isDataUrl = (source: string): boolean => source.startsWith('data:');

const TOKEN = "[-!#$%&'*+.^_`{|}~0-9A-Za-z]";
const TYPE = `(?:[xX]|text|image|audio|video|application|message|multipart)${TOKEN}*/${TOKEN}+`;
/** `;base64` comes last; before parameters it would be one without a value. */
const HEADER = new RegExp(`^data:(?:${TYPE})?(?:;${TOKEN}+=(?:${TOKEN}+|"[^"]*"))*(?:;base64)?$`);

/**
 * Decodes a data URL (RFC 2397) to bytes, by the rules of Ignition (`validateURL`): base64 must be
 * padded, it may be empty; line feeds, spaces and other raw delimiters are not legal, and neither
 * is a line feed at the end, as a block of YAML has it. Media type and parameters are ignored.
 *
 * @throws AgentError `ignition.data-url`
 */
export function decodeDataUrl(url: string): Uint8Array {
  const comma = url.indexOf(',');
  if (comma < 0 || !HEADER.test(url.slice(0, comma))) throw faulty('has a malformed header');
  if (url.includes('\n')) throw faulty('has a line feed');
  const payload = url.slice(comma + 1);
  return url.slice(0, comma).endsWith(';base64') ? decodeBase64(payload) : decodePlain(payload);
}

/** Encodes bytes as a base64 data URL. */
export function encodeDataUrl(bytes: Uint8Array, mediaType = ''): string {
  return `data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`;
}

function decodeBase64(payload: string): Uint8Array {
  // Buffer.from ignores characters outside of base64, so this checks the alphabet and the padding
  // first.
  if (payload.length % 4 !== 0 || !BASE64_DATA.test(payload)) throw faulty('is not padded base64');
  return Buffer.from(payload, 'base64');
}

/** Percent-decodes to bytes; `decodeURIComponent` accepts only UTF-8. */
function decodePlain(payload: string): Uint8Array {
  if (!PLAIN_DATA.test(payload)) throw faulty('has a character that must be percent-encoded');
  const toByte = (_: string, hex: string): string => String.fromCharCode(Number.parseInt(hex, 16));
  return Buffer.from(payload.replaceAll(/%(..)/g, toByte), 'latin1');
}

function faulty(problem: string): Error {
  return ignitionFailure('ignition.data-url', `data URL ${problem}`, { context: { problem } });
}

/** A file with its text inside the config. */
export const embeddedFile = (path: string, text: string | Buffer, mode: number): File => ({
  path,
  mode,
  overwrite: true,
  contents: { source: `data:;base64,${Buffer.from(text as string).toString('base64')}` },
});

/** Path of the cluster's pull secret in a bootstrap config. */
export const PULL_SECRET_PATH = '/root/.docker/config.json';

/**
 * Reads one file of a config. Its content may be a secret.
 *
 * @throws AgentError `ignition.file-missing`, and those of `decodeResource`
 */
export function readFileContent(config: Config, path: string): Uint8Array {
  const file = config.storage?.files?.find((candidate) => candidate.path === path);
  if (file === undefined) {
    throw ignitionFailure('ignition.file-missing', `ignition config has no file ${path}`, {
      context: { path },
    });
  }
  return decodeResource(file.contents ?? {});
}
