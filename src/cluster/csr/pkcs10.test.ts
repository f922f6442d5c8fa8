import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  Extension,
  keyKinds,
  pkcs10,
  SubjectAlternativeNameExtension,
} from '../../../test/support/kubelet-request.ts';
import { forgedBytes } from '../../../test/support/forged-bytes.ts';
import { attribute, der, pemOf, rawRequest, tags } from '../../../test/support/raw-request.ts';
import { readPkcs10 } from './read-request.ts';

/**
 * A GeneralName with that context tag (RFC 5280, 4.2.1.6): 3 is an X.400 address, 12 is not
 * defined.
 */
const nameOfKind = (tag: number): Buffer => Buffer.from([0xa0 | tag, 2, 0x05, 0x00]);

describe('a PKCS#10 request', () => {
  it.each(Object.keys(keyKinds) as (keyof typeof keyKinds)[])(
    'with a key %s is read',
    async (key) => {
      const pem = await pkcs10({
        key,
        names: [
          { type: 'dns', value: 'm0' },
          { type: 'ip', value: '192.0.2.7' },
          { type: 'ip', value: '2001:db8::7' },
        ],
      });
      expect(readPkcs10(pem)).toEqual({
        user: 'system:node:m0',
        dnsNames: ['m0'],
        addresses: ['192.0.2.7', '2001:db8::7'],
      });
    },
  );

  it.each(['client', 'serving'] as const)(
    'of a kubelet is read from raw bytes and with odd keys (%s)',
    (purpose) => {
      const isClient = purpose === 'client';
      const { right, oddKeys } = forgedBytes(purpose);
      for (const pem of [right, ...oddKeys])
        expect(readPkcs10(pem)).toEqual({
          user: `system:node:${isClient ? 'm0' : 'w0'}`,
          dnsNames: isClient ? [] : ['w0'],
          addresses: isClient ? [] : ['192.0.2.20'],
        });
    },
  );

  it('is read with a key of an unknown algorithm', () => {
    const { privateKey: key } = generateKeyPairSync('ml-dsa-65');
    const parts = { organization: 'system:nodes', commonName: 'system:node:m0' } as const;
    const subject = Object.entries(parts).map(([type, text]) =>
      der(tags.set, attribute(type as keyof typeof parts, text)),
    );
    expect(readPkcs10(pemOf(rawRequest({ subject, key })))?.user).toBe('system:node:m0');
  });

  it.each([
    ['a GeneralName of an unsupported type', nameOfKind(3)],
    ['a GeneralName of an undefined type', nameOfKind(12)],
    ['trailing bytes after the names', Buffer.from([0x05, 0x00])],
  ])('is rejected with %s', async (_, more) => {
    const names = new SubjectAlternativeNameExtension([{ type: 'dns', value: 'm0' }]);
    const known = Buffer.from(names.value);
    const isName = more[0] !== 0x05;
    const inside = isName ? Buffer.concat([known.subarray(2), more]) : known.subarray(2);
    const value = Buffer.concat([
      Buffer.from([0x30, inside.length]),
      inside,
      ...(isName ? [] : [more]),
    ]);
    const extension = new Extension(names.type, false, value);
    expect(readPkcs10(await pkcs10({ extensions: [extension] }))).toBeUndefined();
  });
});

describe('DER', () => {
  const right = Buffer.from(
    forgedBytes('client').right.replaceAll(/-----[A-Z ]+-----/g, ''),
    'base64',
  );
  const body = right.subarray(3);

  it.each<[string, Buffer]>([
    ['a two-byte length with a leading zero', Buffer.from([0x30, 0x82, 0, body.length])],
    ['a length of three bytes', Buffer.from([0x30, 0x83, 0, 0, body.length])],
    ['a length of four bytes', Buffer.from([0x30, 0x84, 0, 0, 0, body.length])],
    ['an indefinite length', Buffer.from([0x30, 0x80])],
    ['a multi-byte tag', Buffer.from([0x3f, 0x81, 0x01, body.length])],
    ['a length beyond the end', Buffer.from([0x30, 0x81, body.length + 1])],
    ['a length before the end', Buffer.from([0x30, 0x81, body.length - 1])],
  ])('is rejected with %s', (_, header) => {
    expect(right[1]).toBe(0x81);
    expect(readPkcs10(pemOf(right))).toBeDefined();
    expect(readPkcs10(pemOf(Buffer.concat([header, body])))).toBeUndefined();
  });

  it.each([0, 1, 2, 3])('is rejected when cut to %i bytes', (length) => {
    expect(readPkcs10(pemOf(right.subarray(0, length)))).toBeUndefined();
  });
});
