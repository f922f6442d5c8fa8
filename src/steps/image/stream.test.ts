import { describe, expect, it } from 'vitest';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { fakeWeb } from '../../../test/support/fake-web.ts';
import { runStep, stepThat } from '../../../test/support/run-step.ts';
import { SecretUrl } from '../../lib/secret-url.ts';
import { findInStream } from './stream.ts';

const disk = (name: string) => ({
  disk: {
    location: `https://mirror.example/${name}`,
    sha256: 'b'.repeat(64),
    'uncompressed-sha256': '',
  },
});

const metadata = {
  stream: 'rhcos-4.16',
  metadata: { 'last-modified': '2024-10-21T16:19:00Z' },
  architectures: {
    x86_64: {
      artifacts: {
        metal: {
          release: '416.94.202410211619-0',
          formats: {
            '4k.raw.gz': disk('metal4k.raw.gz'),
            iso: { disk: { location: 'https://mirror.example/live.iso', sha256: 'c'.repeat(64) } },
            'raw.gz': disk('metal.raw.gz'),
            'raw.xz': disk('metal.raw.xz'),
            pxe: { kernel: { location: 'https://mirror.example/k', sha256: 'd'.repeat(64) } },
          },
        },
      },
    },
    s390x: { artifacts: { metal: { release: '1', formats: { 'raw.xz': disk('s390x.raw.xz') } } } },
    aarch64: { artifacts: {} },
  },
};

const find = (text: string, architecture: string, sectorBytes: number, at = '/s.json') => {
  const host = fakeHost().on(['uname', '-m']).prints(architecture);
  const web = fakeWeb();
  if (at.startsWith('/')) host.withFile(at, text);
  else web.with(at, text);
  const finding = stepThat(['host', 'web'], async (scope) => {
    found = await findInStream(scope, new SecretUrl(at), sectorBytes);
  });
  let found: unknown;
  return runStep(finding, { host, web }).then(() => found);
};

describe('stream metadata', () => {
  it.each([
    ['x86_64', 512, 'metal.raw.gz', 'raw.gz'],
    ['x86_64', 4096, 'metal4k.raw.gz', '4k.raw.gz'],
    ['s390x', 512, 's390x.raw.xz', 'raw.xz'],
  ])(
    'contains for %s with sectors of %i bytes the image %s',
    async (...[architecture, sectorBytes, name, format]) => {
      expect(await find(JSON.stringify(metadata), architecture, sectorBytes)).toMatchObject({
        url: `https://mirror.example/${name}`,
        sha256: 'b'.repeat(64),
        format,
      });
    },
  );

  it.each(['http://mirror.example/s.json', '/mirror/http://s.json'])(
    'is read from %s',
    async (at) => {
      const found = await find(JSON.stringify(metadata), 's390x', 512, at);
      expect(found).toMatchObject({ format: 'raw.xz' });
    },
  );

  it.each([
    ['an unknown architecture', 'riscv64', 512, 'it has x86_64, s390x, aarch64'],
    ['an architecture without metal images', 'aarch64', 512, 'it has no metal image'],
    ['a sector size without an image', 's390x', 4096, 'it has raw.xz'],
    ['any architecture', 'ppc64le', 512, 'it has no architectures'],
  ])('contains no image for %s', async (...[, architecture, sectorBytes, instead]) => {
    const known = architecture === 'ppc64le' ? {} : metadata.architectures;
    const text = JSON.stringify({ ...metadata, architectures: known });
    const wanted = `${architecture} with sectors of ${sectorBytes} bytes`;
    await expect(find(text, architecture, sectorBytes)).rejects.toMatchObject({
      code: 'image.not-in-stream',
      kind: 'input',
      message: `the stream has no image for ${wanted}: ${instead}`,
      context: { wanted },
    });
  });

  const withDigest = (digest: string): string =>
    JSON.stringify(metadata).replaceAll('b'.repeat(64), digest);
  const digestAt = 'architectures.x86_64.artifacts.metal.formats.4k.raw.gz.disk.sha256';

  it.each([
    ['not JSON', '<html>', ''],
    ['another document', '{"releases": []}', 'architectures'],
    ['a digest that is too short', withDigest('b'), digestAt],
    [
      'a path for the address of an image',
      JSON.stringify(metadata).replaceAll('https://mirror.example/', ''),
      'architectures.x86_64.artifacts.metal.formats.4k.raw.gz.disk.location',
    ],
    ['a digest that is too long', withDigest('b'.repeat(65)), digestAt],
  ])('is refused: %s', async (_, text, at) => {
    await expect(find(text, 'x86_64', 512)).rejects.toMatchObject({
      code: 'image.stream-unreadable',
      message: `/s.json is not stream metadata: see "${at}"`,
      context: { origin: '/s.json' },
    });
  });
});
