import { describe, expect, it } from 'vitest';
import {
  ExtendedKeyUsageExtension,
  Extension,
  keyKinds,
  keyPair,
  pkcs10,
  SubjectAlternativeNameExtension,
} from '../../../test/support/kubelet-request.ts';
import { forgedBytes } from '../../../test/support/forged-bytes.ts';
import { pemOf } from '../../../test/support/raw-request.ts';
import { readPkcs10 } from './pkcs10.ts';

/** With what the check of its key says. */
function checked(pem: string) {
  const request = readPkcs10(pem);
  return request && { ...request, ...request.checkKey(), checkKey: undefined };
}

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
      expect(checked(pem)).toEqual({
        commonNames: ['system:node:m0'],
        organizations: ['system:nodes'],
        otherSubject: [],
        dnsNames: ['m0'],
        addresses: ['192.0.2.7', '2001:db8::7'],
        otherNames: [],
        otherExtensions: [],
        isSigned: true,
        isStrong: key !== 'RSA 1024',
        key: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      });
    },
  );

  it.each(['client', 'serving'] as const)('of a kubelet is read byte by byte (%s)', (purpose) => {
    const node = purpose === 'client' ? 'm0' : 'w0';
    expect(checked(forgedBytes(purpose).right)).toMatchObject({
      ...{ commonNames: [`system:node:${node}`], organizations: ['system:nodes'] },
      ...(purpose === 'client' ? {} : { dnsNames: ['w0'], addresses: ['192.0.2.20'] }),
      ...{ isSigned: true, isStrong: true },
    });
  });

  it('tells what no kubelet asks for', async () => {
    const pem = await pkcs10({
      subject: 'O=system:nodes, O=system:masters, OU=x, CN=system:node:m0, CN=admin',
      names: [
        { type: 'email', value: 'a@b.example' },
        { type: 'url', value: 'http://a.example' },
      ],
      extensions: [new ExtendedKeyUsageExtension(['1.3.6.1.5.5.7.3.2'])],
    });
    expect(checked(pem)).toMatchObject({
      commonNames: ['system:node:m0', 'admin'],
      organizations: ['system:nodes', 'system:masters'],
      otherSubject: ['2.5.4.11'],
      otherNames: ['email', 'url'],
      otherExtensions: ['2.5.29.37'],
    });
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

  it('is named by its key, whatever else it says', async () => {
    const keys = await keyPair();
    const one = readPkcs10(await pkcs10({ keys }));
    const other = readPkcs10(await pkcs10({ keys, names: [{ type: 'dns', value: 'x' }] }));
    expect(other?.key).toBe(one?.key);
    expect(readPkcs10(await pkcs10())?.key).not.toBe(one?.key);
  });

  it('is not signed when another key was used', async () => {
    const [own, other] = await Promise.all([keyPair(), keyPair()]);
    const keys = { publicKey: other.publicKey, privateKey: own.privateKey };
    expect(checked(await pkcs10({ keys }))).toMatchObject({ isSigned: false });
  });

  it('is not signed when its hash is one that is broken', async () => {
    const keys = await keyPair();
    const pem = await pkcs10({ keys, hash: 'SHA-1' });
    expect(checked(pem)).toMatchObject({ isSigned: false });
  });

  it('is not signed when it was changed afterwards', async () => {
    const [, body = ''] = /-----\n([^-]+)\n-----/.exec(await pkcs10()) ?? [];
    const der = Buffer.from(body, 'base64');
    der.write('m1', der.indexOf('system:node:m0') + 'system:node:'.length);
    const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
    expect(checked(pem)).toMatchObject({
      commonNames: ['system:node:m1'],
      isSigned: false,
    });
  });

  it.each(['client', 'serving'] as const)(
    'is not signed, if it can be read, with any bit of it changed (%s)',
    (purpose) => {
      const body = forgedBytes(purpose).right.replaceAll(/-----[A-Z ]+-----/g, '');
      const bits = [...Buffer.from(body, 'base64').keys()].flatMap((byte) =>
        Array.from({ length: 8 }, (_, bit) => [byte, 1 << bit] as const),
      );
      const signed = bits.filter(([byte, mask]) => {
        const der = Buffer.from(body, 'base64');
        der.writeUInt8(der.readUInt8(byte) ^ mask, byte);
        return readPkcs10(pemOf(der))?.checkKey().isSigned;
      });
      expect(signed).toEqual([]);
    },
  );

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
