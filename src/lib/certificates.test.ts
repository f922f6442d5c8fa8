import { expect, it } from 'vitest';
import { authority, expiredAuthority } from '../../test/support/authority.ts';
import { authorityProblem, certificateBundle } from './certificates.ts';

const [now, later] = [Date.parse('2026-12-01'), Date.parse('2127-01-01')];
const broken = authority.replace(/\nMIIB/, '\nAAAA');
const key = '-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n';

it.each([
  ['a certificate', authority, now, undefined],
  ['several, with names before them', `# CA\n${authority}\n${authority}\n`, now, undefined],
  ['an old one beside its successor', `${authority}\n${expiredAuthority}`, now, undefined],
  ['nothing', '', now, 'holds no PEM certificate'],
  ['one in DER', '0\u0082\u0001{', now, 'holds no PEM certificate'],
  ['one that is cut', authority.slice(0, -30), now, /is cut/],
  ['one behind another that is cut', `${authority.slice(0, -30)}\n${authority}`, now, /is cut/],
  ['one before another that is cut', `${authority}\n${authority.slice(0, -30)}`, now, /is cut/],
  ['one that is broken', `${authority}\n${broken}`, now, /cannot be read, number 2$/],
  ['one that has expired', authority, later, /nothing in it is valid after 2126-10-28T10:27:30/],
  ['a key', `${authority}\n${key}`, now, /private key/],
])('an authority: %s', (...[, text, at, problem]) => {
  const found = authorityProblem(text, at);
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(problem);
});

it.each([
  ['no line break between two', `${authority}${expiredAuthority}`],
  ['a byte order mark', `\ufeff${authority}\n${expiredAuthority}\n`],
  ['line breaks of Windows', `${authority}\n${expiredAuthority}\n`.replaceAll('\n', '\r\n')],
  ['words beside them', `# ours\n${authority}\n\ntheirs\n${expiredAuthority}`],
])('gives certificates alone of a text with %s', (_, text) => {
  expect(authorityProblem(text, 0)).toBeUndefined();
  expect(certificateBundle(text)).toBe(`${authority}\n${expiredAuthority}\n`);
});
