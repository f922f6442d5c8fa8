import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';

import { decodeDataUrl, isDataUrl } from './data-url.ts';
import { ignitionFailure } from './failures.ts';
import type { Resource } from './types.ts';

/** No content of a config may grow beyond this when decompressed; Ignition itself has no limit. */
export const MAX_CONTENT_BYTES = 64 * 1024 * 1024;

/**
 * The content of a resource that is embedded as a data URL. An empty source is empty content.
 *
 * @throws AgentError `ignition.no-source`, `ignition.remote-source`, and as {@link decodeContent}
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
 * Turns the bytes found at a resource's source into its content: decompressed, then held against the
 * hash, which covers the decompressed content.
 *
 * @throws AgentError `ignition.gzip`, `ignition.too-large`, `ignition.hash-mismatch`
 */
export function decodeContent(
  { compression, verification }: Pick<Resource, 'compression' | 'verification'>,
  bytes: Uint8Array,
  maxBytes = MAX_CONTENT_BYTES,
): Uint8Array {
  const content = compression === 'gzip' ? gunzip(bytes, maxBytes) : bytes;
  if (verification?.hash !== undefined) verifyHash(content, verification.hash);
  return content;
}

/** Whether bytes look compressed by gzip (RFC 1952 magic). */
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
