import { describe, expect, it } from 'vitest';
import { sum } from '../../test/support/os-samples.ts';
import {
  digestInList,
  missingBytes,
  parseImageName,
  readInspected,
  readLayers,
} from './registry-image.ts';

/** `skopeo inspect --no-tags`, trimmed. */
const inspected = JSON.stringify({
  Name: '10.0.2.2:5000/labcoreos',
  Digest: `sha256:${sum('1')}`,
  RepoTags: [],
  Architecture: 'amd64',
  Os: 'linux',
  Layers: [`sha256:${sum('2')}`, `sha256:${sum('3')}`],
  LayersData: ['2', '3'].map((digit) => ({
    MIMEType: 'application/vnd.oci.image.layer.v1.tar+gzip',
    Digest: `sha256:${sum(digit)}`,
    Size: digit === '2' ? 70 : 30,
  })),
});

describe('an image in a registry', () => {
  const image = readInspected(inspected, 'x');

  it('has a digest, an architecture and layers', () => {
    expect(image).toMatchObject({ digest: `sha256:${sum('1')}`, architecture: 'amd64' });
    expect(missingBytes(image, new Set())).toBe(100);
  });

  it('has missing bytes for the layers without an ostree ref', () => {
    const refs = `ostree/container/blob/sha256_3A_${sum('2')}\nostree/container/blob/sha256_3A_${sum('a')}`;
    expect(missingBytes(image, readLayers(refs))).toBe(30);
  });

  it('is not read from other output', () => {
    expect(() => readInspected('{}', 'x')).toThrow(
      expect.objectContaining({ code: 'os.image-unreachable' }),
    );
  });
});

it('digestInList finds the manifest of an architecture, or none without a list', () => {
  const list = JSON.stringify({
    schemaVersion: 2,
    manifests: [
      { digest: `sha256:${sum('a')}`, platform: { architecture: 'arm64', os: 'linux' } },
      { digest: `sha256:${sum('b')}`, platform: { architecture: 'amd64', os: 'linux' } },
      { digest: `sha256:${sum('c')}` },
    ],
  });
  expect(digestInList(list, 'amd64')).toBe(`sha256:${sum('b')}`);
  expect(digestInList(list, 's390x')).toBeUndefined();
  expect(digestInList('{"schemaVersion":2,"layers":[]}', 'amd64')).toBeUndefined();
});

const digest = `sha256:${sum('a')}`;

it.each([
  ['quay.io/a/b:1.0', 'quay.io', undefined],
  [`10.0.2.2:5000/os@${digest}`, '10.0.2.2:5000', digest],
  ['localhost/os:latest', 'localhost', undefined],
  ['localhost:5000/a/b/c_d__e-f:1', 'localhost:5000', undefined],
  ['[fd00::1]:5000/os:1', '[fd00::1]:5000', undefined],
])('parseImageName reads %s', (text, host, known) => {
  expect(parseImageName(text)).toMatchObject({ text, host });
  expect(parseImageName(text).digest).toBe(known);
});

// src/lib/image-name.test.ts covers what is no name of an image.
it.each([
  '',
  'os:1',
  'library/os:1',
  'quay.io/a/b',
  `quay.io/a/b:1@${digest}`,
  'quay.io/a/b@sha256:abc',
  'ostree-unverified-registry:quay.io/a/b:1',
])('parseImageName refuses %j', (text) => {
  expect(() => parseImageName(text)).toThrow(
    expect.objectContaining({ code: 'os.bad-image-name', kind: 'input' }),
  );
});
