import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

import { encodeDataUrl } from './resource.ts';
import { authority as certificate } from '../../test/support/authority.ts';
import { parseConfig } from './parse.ts';
import { readPointer, type Pointer } from './pointer.ts';

const inline = (text: string): object => ({ source: encodeDataUrl(Buffer.from(text)) });
const url = 'https://api-int.lab.example:22623/config/worker';

function pointerOf(
  merge: readonly object[],
  certificateAuthorities: readonly object[] = [],
): Pointer {
  const ignition = {
    version: '3.2.0',
    config: { merge },
    security: { tls: { certificateAuthorities } },
  };
  return readPointer(parseConfig(JSON.stringify({ ignition })));
}

describe('readPointer', () => {
  it('returns the URL and the CA certificates', () => {
    expect(pointerOf([{ source: url }], [inline(`${certificate}\n`)])).toEqual({
      kind: 'remote',
      url,
      resource: { source: url },
      certificateAuthorities: certificate,
    });
  });

  it('takes the first config with a source', () => {
    const pointer = pointerOf([{}, { source: '' }, { source: 'http://a' }, { source: 'http://b' }]);
    expect(pointer).toMatchObject({ kind: 'remote', url: 'http://a', certificateAuthorities: '' });
  });

  it('joins all embedded CA certificates', () => {
    const bundle = inline(`# comment\n${certificate}\n${certificate}`);
    const gzip = { source: encodeDataUrl(gzipSync(certificate)), compression: 'gzip' };
    const pointer = pointerOf(
      [{ source: url }],
      [{ source: 'https://elsewhere/ca' }, bundle, gzip],
    );
    expect(pointer).toMatchObject({
      certificateAuthorities: [certificate, certificate, certificate].join('\n'),
    });
  });

  it.each([
    ['plain', inline('{}')],
    ['compressed', { source: encodeDataUrl(gzipSync('{}')), compression: 'gzip' }],
    ['compressed without a compression member', { source: encodeDataUrl(gzipSync('{}')) }],
  ])('returns an embedded config: %s', (_, resource) => {
    const pointer = pointerOf([resource]);
    expect(pointer.kind === 'embedded' && Buffer.from(pointer.content).toString()).toBe('{}');
  });

  it.each([
    ['nothing to merge', [], [], 'ignition.pointer-missing'],
    ['no CA', [{ source: url }], [], 'ignition.ca-missing'],
    ['a remote CA', [{ source: url }], [{ source: 'http://a' }], 'ignition.ca-missing'],
    ['a CA that is not PEM', [{ source: url }], [inline('x')], 'ignition.ca-invalid'],
    [
      'a CA that is not a valid certificate',
      [{ source: url }],
      [inline('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----')],
      'ignition.ca-invalid',
    ],
    [
      'content that is not gzip despite its compression member',
      [{ source: 'data:,x', compression: 'gzip' }],
      [],
      'ignition.gzip',
    ],
    [
      'content that does not match its hash',
      [{ ...inline('{}'), verification: { hash: `sha256-${'0'.repeat(64)}` } }],
      [],
      'ignition.hash-mismatch',
    ],
  ])('refuses %s', (...[, merge, authorities, code]) => {
    expect(() => pointerOf(merge, authorities)).toThrow(expect.objectContaining({ code }));
  });
});
