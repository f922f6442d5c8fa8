import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  ExtendedKeyUsageExtension,
  Extension,
  keyKinds,
  pkcs10,
  type RequestWishes,
  SubjectAlternativeNameExtension,
} from '../../../test/support/kubelet-request.ts';
import { forgedBytes } from '../../../test/support/forged-bytes.ts';
import { attribute, der, pemOf, rawRequest, tags } from '../../../test/support/raw-request.ts';
import { readPkcs10 } from './pkcs10.ts';

/** A GeneralName with that context tag (RFC 5280, 4.2.1.6): 3 is an X.400 address, 12 nothing. */
const nameOfKind = (tag: number): Buffer => Buffer.from([0xa0 | tag, 2, 0x05, 0x00]);

describe('a PKCS#10 request', () => {
  it.each(Object.keys(keyKinds) as (keyof typeof keyKinds)[])(
    'of a key %s is read',
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

  it.each(['client', 'serving'] as const)('of a kubelet is read byte by byte (%s)', (purpose) => {
    const isClient = purpose === 'client';
    const { right, oddKeys } = forgedBytes(purpose);
    for (const pem of [right, ...oddKeys])
      expect(readPkcs10(pem)).toEqual({
        user: `system:node:${isClient ? 'm0' : 'w0'}`,
        dnsNames: isClient ? [] : ['w0'],
        addresses: isClient ? [] : ['192.0.2.20'],
      });
  });

  it('is read with a key of a kind that is younger than this program', () => {
    const { privateKey: key } = generateKeyPairSync('ml-dsa-65');
    const parts = { organization: 'system:nodes', commonName: 'system:node:m0' } as const;
    const subject = Object.entries(parts).map(([type, text]) =>
      der(tags.set, attribute(type as keyof typeof parts, text)),
    );
    expect(readPkcs10(pemOf(rawRequest({ subject, key })))?.user).toBe('system:node:m0');
  });

  it.each<[string, RequestWishes]>([
    [
      'another organization too',
      { subject: 'O=system:nodes, O=system:masters, CN=system:node:m0' },
    ],
    ['another organization', { subject: 'O=system:masters, CN=system:node:m0' }],
    ['no organization', { subject: 'CN=system:node:m0' }],
    ['two common names', { subject: 'O=system:nodes, CN=system:node:m0, CN=admin' }],
    ['a further part of a name', { subject: 'O=system:nodes, OU=x, CN=system:node:m0' }],
    ['an e-mail address', { names: [{ type: 'email', value: 'a@b.example' }] }],
    ['a URL', { names: [{ type: 'url', value: 'http://a.example' }] }],
    ['another extension', { extensions: [new ExtendedKeyUsageExtension(['1.3.6.1.5.5.7.3.2'])] }],
  ])('is not read with %s', async (_, wishes) => {
    expect(readPkcs10(await pkcs10(wishes))).toBeUndefined();
  });

  it.each([
    ['a name of a kind that the parser does not know', nameOfKind(3)],
    ['a name of a kind that there is not', nameOfKind(12)],
    ['bytes behind its names', Buffer.from([0x05, 0x00])],
  ])('is not read with %s', async (_, more) => {
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

  it('is not read with bytes behind it', async () => {
    const [, body = ''] = /-----\n([^-]+)\n-----/.exec(await pkcs10()) ?? [];
    const der = Buffer.concat([Buffer.from(body, 'base64'), Buffer.from([0x05, 0x00])]);
    const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
    expect(readPkcs10(pem)).toBeUndefined();
  });

  it('is refused when its alternative names are asked for twice', async () => {
    const names = [{ type: 'dns', value: 'm0' }] as const;
    const extensions = [new SubjectAlternativeNameExtension([{ type: 'dns', value: 'm1' }])];
    expect(readPkcs10(await pkcs10({ names, extensions }))).toBeUndefined();
  });

  it.each([
    ['nothing', () => ''],
    ['another block', (pem: string) => pem.replaceAll('CERTIFICATE REQUEST', 'CERTIFICATE')],
    ['two blocks', (pem: string) => pem + pem],
    ['words before the block', (pem: string) => `x\n${pem}`],
    ['a block that is cut off', (pem: string) => pem.replace(/\n[^\n]+\n-----END/, '\n-----END')],
    ['a block of something else', (pem: string) => pem.replace(/\nMI[^-]+/, '\nAAAA\n')],
  ])('cannot be read from %s', async (_, change) => {
    expect(readPkcs10(change(await pkcs10()))).toBeUndefined();
  });
});

describe('DER', () => {
  const right = Buffer.from(
    forgedBytes('client').right.replaceAll(/-----[A-Z ]+-----/g, ''),
    'base64',
  );
  const body = right.subarray(3);

  it.each<[string, Buffer]>([
    [
      'a length of several bytes that begins with a zero',
      Buffer.from([0x30, 0x82, 0, body.length]),
    ],
    ['a length of three bytes', Buffer.from([0x30, 0x83, 0, 0, body.length])],
    ['a length of four bytes', Buffer.from([0x30, 0x84, 0, 0, 0, body.length])],
    ['a length without end', Buffer.from([0x30, 0x80])],
    ['a tag of several bytes', Buffer.from([0x3f, 0x81, 0x01, body.length])],
    ['more than there is', Buffer.from([0x30, 0x81, body.length + 1])],
    ['less than there is', Buffer.from([0x30, 0x81, body.length - 1])],
  ])('is not read with %s', (_, header) => {
    expect(right[1]).toBe(0x81);
    expect(readPkcs10(pemOf(right))).toBeDefined();
    expect(readPkcs10(pemOf(Buffer.concat([header, body])))).toBeUndefined();
  });

  it.each([0, 1, 2, 3])('is not read with %i bytes alone', (length) => {
    expect(readPkcs10(pemOf(right.subarray(0, length)))).toBeUndefined();
  });
});
