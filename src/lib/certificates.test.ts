import { expect, it } from 'vitest';
import { authority, expiredAuthority } from '../../test/support/authority.ts';
import { authorityProblem, certificateBundle } from './certificates.ts';

const [now, later] = [Date.parse('2026-12-01'), Date.parse('2127-01-01')];
const broken = authority.replace(/\nMIIB/, '\nAAAA');
const key = '-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n';

it.each([
  ['a certificate', authority, now, undefined],
  ['several certificates with comments', `# CA\n${authority}\n${authority}\n`, now, undefined],
  ['a valid and an expired certificate', `${authority}\n${expiredAuthority}`, now, undefined],
  ['an empty file', '', now, 'holds no PEM certificate'],
  ['a certificate in DER', '0\u0082\u0001{', now, 'holds no PEM certificate'],
  ['a truncated certificate', authority.slice(0, -30), now, /is cut/],
  [
    'a certificate after a truncated one',
    `${authority.slice(0, -30)}\n${authority}`,
    now,
    /is cut/,
  ],
  [
    'a certificate before a truncated one',
    `${authority}\n${authority.slice(0, -30)}`,
    now,
    /is cut/,
  ],
  [
    'a certificate that cannot be parsed',
    `${authority}\n${broken}`,
    now,
    /cannot be read, number 2$/,
  ],
  ['an expired certificate', authority, later, /nothing in it is valid after 2126-10-28T10:27:30/],
  ['a private key', `${authority}\n${key}`, now, /private key/],
])('checks a CA bundle: %s', (...[, text, at, problem]) => {
  const found = authorityProblem(text, at);
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(problem);
});

it.each([
  ['no line break between certificates', `${authority}${expiredAuthority}`],
  ['a byte order mark', `\ufeff${authority}\n${expiredAuthority}\n`],
  ['CRLF line breaks', `${authority}\n${expiredAuthority}\n`.replaceAll('\n', '\r\n')],
  ['comments', `# ours\n${authority}\n\ntheirs\n${expiredAuthority}`],
])('extracts only the certificates from a file with %s', (_, text) => {
  expect(authorityProblem(text, 0)).toBeUndefined();
  expect(certificateBundle(text)).toBe(`${authority}\n${expiredAuthority}\n`);
});
