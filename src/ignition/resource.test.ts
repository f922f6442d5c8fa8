import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import fc from '../../test/support/properties.ts';
import { describe, expect, it } from 'vitest';
import { parseConfig } from './parse.ts';
import {
  decodeContent,
  decodeDataUrl,
  decodeResource,
  encodeDataUrl,
  isDataUrl,
  isGzip,
  PULL_SECRET_PATH,
  readFileContent,
} from './resource.ts';
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

  it('stays compressed without a compression member', () => {
    expect([...decodeResource({ source })]).toEqual([...packed]);
    expect(isGzip(packed)).toBe(true);
  });

  it.each<[string, Resource, string, string]>([
    ['has no source', {}, 'ignition.no-source', 'input'],
    ['is remote', { source: 'http://h/a' }, 'ignition.remote-source', 'input'],
    ['is not gzip', { source: 'data:,a', compression: 'gzip' }, 'ignition.gzip', 'input'],
    [
      'is empty instead of gzip',
      { source: 'data:,', compression: 'gzip' },
      'ignition.gzip',
      'input',
    ],
    [
      'is truncated',
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
      'is compressed by another program',
      { source: 'data:,a', compression: 'xz' },
      'ignition.gzip',
      'input',
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

  it('is refused when its decompressed size exceeds the limit', () => {
    const bomb = gzipSync(Buffer.alloc(5000));
    expect(decodeContent({ compression: 'gzip' }, bomb, 5000)).toHaveLength(5000);
    expect(() => decodeContent({ compression: 'gzip' }, bomb, 4999)).toThrow(
      expect.objectContaining({ code: 'ignition.too-large', context: { limitBytes: 4999 } }),
    );
  });
});

const bytesOf = (text: string): number[] => [...Buffer.from(text)];

describe('a data URL', () => {
  it.each([
    ['without a media type', 'data:,a', 'a'],
    ['with an empty payload', 'data:,', ''],
    ['with an empty base64 payload', 'data:;base64,', ''],
    ['with escapes', 'data:,a%20b%2C', 'a b,'],
    ['in base64', 'data:;base64,YWI=', 'ab'],
    ['with a media type', 'data:text/plain,a', 'a'],
    ['with a character set', 'data:text/plain;charset=utf-8;base64,YQ==', 'a'],
    ['with a quoted parameter', 'data:text/plain;a="b c",a', 'a'],
    ['with a parameter called base64', 'data:text/plain;base64=1,YQ==', 'YQ=='],
  ])('%s is decoded', (_, url, content) => {
    expect([...decodeDataUrl(url)]).toEqual(bytesOf(content));
  });

  it('can hold bytes that are not UTF-8', () => {
    expect([...decodeDataUrl('data:,%ff%00')]).toEqual([0xff, 0x00]);
  });

  it.each([
    ['a raw space', 'data:,a b'],
    ['a letter beyond ASCII', 'data:,é'],
    ['an incomplete escape', 'data:,%4'],
    ['no comma', 'data:text/plain'],
    ['unpadded base64', 'data:;base64,YQ'],
    ['padding in the middle', 'data:;base64,YQ==YQ=='],
    ['letters that are not base64', 'data:;base64,Y*=='],
    ['the URL-safe alphabet', 'data:;base64,__-_'],
    ['a comma in a parameter', 'data:text/plain;a="b,c;d";base64,YQ=='],
    ['the scheme in capitals', 'DATA:,a'],
    ['a line feed at the end', 'data:;base64,YQ==\n'],
    ['base64 before a parameter', 'data:;base64;charset=utf-8,YQ=='],
    ['half a media type', 'data:text,a'],
    ['a blank in its media type', 'data:text plain,a'],
  ])('with %s is refused', (_, url) => {
    expect(() => decodeDataUrl(url)).toThrow(
      expect.objectContaining({ code: 'ignition.data-url', kind: 'input' }),
    );
  });

  it('returns the bytes that were encoded', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const url = encodeDataUrl(bytes, 'text/plain');
        expect(isDataUrl(url)).toBe(true);
        expect([...decodeDataUrl(url)]).toEqual([...bytes]);
      }),
    );
  });
});

// A bootstrap config of assisted-service: spec 3.1 with members of older specs.
const config = parseConfig(
  JSON.stringify({
    ignition: { version: '3.1.0' },
    networkd: {},
    storage: {
      files: [
        { filesystem: 'root', path: '/etc/a', contents: { source: 'data:,a' } },
        {
          filesystem: 'root',
          path: PULL_SECRET_PATH,
          contents: { source: 'data:text/plain;charset=utf-8;base64,e30=', verification: {} },
        },
        { path: '/etc/empty' },
      ],
    },
  }),
);

describe('a file of a config', () => {
  it('is found by its path and decoded', () => {
    expect(Buffer.from(readFileContent(config, PULL_SECRET_PATH)).toString()).toBe('{}');
  });

  it.each([
    ['/etc/b', 'ignition.file-missing'],
    ['/etc/empty', 'ignition.no-source'],
  ])('%s is refused with %s', (path, code) => {
    expect(() => readFileContent(config, path)).toThrow(expect.objectContaining({ code }));
  });
});
