import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

import { encodeDataUrl } from './data-url.ts';
import { decodeContent, decodeResource, isGzip } from './resource.ts';
import type { Resource } from './types.ts';

const sum = (algorithm: string, text: string): string =>
  `${algorithm}-${createHash(algorithm).update(text).digest('hex')}`;

const packed = gzipSync('content');
const twoMembers = Buffer.concat([gzipSync('con'), gzipSync('tent')]);
const source = encodeDataUrl(packed);

describe('a resource', () => {
  it.each<[string, Resource, string]>([
    ['plain', { source: 'data:,content' }, 'content'],
    ['with an empty source', { source: '' }, ''],
    ['compressed', { source, compression: 'gzip' }, 'content'],
    ['in two gzip members', { source: encodeDataUrl(twoMembers), compression: 'gzip' }, 'content'],
    [
      'with the hash of its decompressed content',
      { source, compression: 'gzip', verification: { hash: sum('sha256', 'content') } },
      'content',
    ],
    [
      'with a hash in capitals',
      {
        source: 'data:,a',
        verification: { hash: `sha512-${sum('sha512', 'a').slice(7).toUpperCase()}` },
      },
      'a',
    ],
  ])('that is %s is decoded', (_, resource, content) => {
    expect(Buffer.from(decodeResource(resource)).toString()).toBe(content);
  });

  it('is left compressed where it does not say so', () => {
    expect([...decodeResource({ source })]).toEqual([...packed]);
    expect(isGzip(packed)).toBe(true);
  });

  it.each<[string, Resource, string, string]>([
    ['has no source', {}, 'ignition.no-source', 'input'],
    ['is elsewhere', { source: 'http://h/a' }, 'ignition.remote-source', 'input'],
    ['is not gzip', { source: 'data:,a', compression: 'gzip' }, 'ignition.gzip', 'input'],
    ['is nothing for gzip', { source: 'data:,', compression: 'gzip' }, 'ignition.gzip', 'input'],
    [
      'is cut short',
      { source: encodeDataUrl(packed.subarray(0, -4)), compression: 'gzip' },
      'ignition.gzip',
      'input',
    ],
    [
      'has data after the last gzip member',
      { source: encodeDataUrl(Buffer.concat([packed, Buffer.from('x')])), compression: 'gzip' },
      'ignition.gzip',
      'input',
    ],
    [
      'does not match its hash',
      { source: 'data:,a', verification: { hash: sum('sha256', 'b') } },
      'ignition.hash-mismatch',
      'media',
    ],
    [
      'has the hash of its compressed form',
      {
        source,
        compression: 'gzip',
        verification: { hash: `sha256-${createHash('sha256').update(packed).digest('hex')}` },
      },
      'ignition.hash-mismatch',
      'media',
    ],
    [
      'has a hash of an unknown function',
      { source: 'data:,a', verification: { hash: 'md5-0' } },
      'ignition.hash-mismatch',
      'media',
    ],
  ])('that %s is refused', (...[, resource, code, kind]) => {
    expect(() => decodeResource(resource)).toThrow(expect.objectContaining({ code, kind }));
  });

  it('is refused where it grows beyond the limit', () => {
    const bomb = gzipSync(Buffer.alloc(5000));
    expect(decodeContent({ compression: 'gzip' }, bomb, 5000)).toHaveLength(5000);
    expect(() => decodeContent({ compression: 'gzip' }, bomb, 4999)).toThrow(
      expect.objectContaining({ code: 'ignition.too-large', context: { limitBytes: 4999 } }),
    );
  });
});
