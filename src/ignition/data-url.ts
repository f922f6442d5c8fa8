import { Buffer } from 'node:buffer';

import { ignitionFailure } from './failures.ts';

/** RFC 2045 token characters. */
const TOKEN = "[!#$%&'*+\\-.0-9A-Z^_`a-z{|}~]";
/** Types that the data URL library of Ignition takes, by their first letters, and X- types. */
const TYPE = `(?:(?:text|image|audio|video|application|message|multipart)${TOKEN}*|[xX]-${TOKEN}*)`;
const PARAMETER = `;${TOKEN}+=(?:${TOKEN}+|"(?:[^"\\\\\\n\\u0080-\\u{10ffff}]|\\\\[abfnrtv\\\\"])*")`;
const HEADER = new RegExp(
  `^data:(?:${TYPE}/${TOKEN}*)?(?<parameters>(?:${PARAMETER})*)(?<base64>;base64)?,`,
  'u',
);

/** Printable ASCII without the delimiters that RFC 2396 calls unwise; `%` starts an escape. */
const PLAIN_DATA = /^(?:[!$&-;=?-Z_a-z~]|%[0-9a-fA-F]{2})*$/u;
const BASE64_DATA = /^[A-Za-z0-9+/]*={0,2}$/u;
const QUOTED = /"(?:[^"\\]|\\.)*"/gsu;
/** In a value only: names of parameters are not decoded. */
const BROKEN_ESCAPE = /=[^;]*%(?![0-9a-fA-F]{2})/u;

/** Whether a source is a data URL, so that its content is at hand. */
export const isDataUrl = (source: string): boolean => source.startsWith('data:');

/**
 * Decodes a data URL (RFC 2397) to bytes. It takes what Ignition takes: base64 must be padded, line
 * feeds in it are skipped, an empty payload is legal, spaces and other raw delimiters are not.
 *
 * @throws AgentError `ignition.data-url`
 */
export function decodeDataUrl(url: string): Uint8Array {
  const header = HEADER.exec(url);
  if (header === null) throw faulty('has a malformed header');
  if (BROKEN_ESCAPE.test(header.groups?.['parameters']?.replaceAll(QUOTED, '') ?? '')) {
    throw faulty('has a broken percent escape');
  }
  const payload = url.slice(header[0].length);
  return header.groups?.['base64'] === undefined ? decodePlain(payload) : decodeBase64(payload);
}

/** Encodes bytes as a base64 data URL. */
export function encodeDataUrl(bytes: Uint8Array, mediaType = ''): string {
  return `data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`;
}

function decodeBase64(payload: string): Uint8Array {
  const digits = payload.includes('\n') ? payload.replaceAll('\n', '') : payload;
  // Buffer.from skips what is not base64, so the alphabet and the padding are checked first.
  if (digits.length % 4 !== 0 || !BASE64_DATA.test(digits)) throw faulty('is not padded base64');
  return Buffer.from(digits, 'base64');
}

/** Percent-decodes to bytes; `decodeURIComponent` would insist on UTF-8. */
function decodePlain(payload: string): Uint8Array {
  if (!PLAIN_DATA.test(payload)) throw faulty('has a character that must be percent-encoded');
  const bytes = Buffer.alloc(payload.length);
  let length = 0;
  for (let at = 0; at < payload.length; at += 1, length += 1) {
    const code = payload.charCodeAt(at);
    if (code === 0x25) {
      bytes[length] = Number.parseInt(payload.slice(at + 1, at + 3), 16);
      at += 2;
    } else {
      bytes[length] = code;
    }
  }
  return bytes.subarray(0, length);
}

function faulty(problem: string): Error {
  return ignitionFailure('ignition.data-url', `data URL ${problem}`, { context: { problem } });
}
