import { describe, expect, it } from 'vitest';
import { fakeHost } from '../../../test/support/fake-host.ts';
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

const find = (text: string, architecture: string, sectorBytes: number) => {
  const host = fakeHost().withFile('/s.json', text).on(['uname', '-m']).prints(architecture);
  const finding = stepThat(['host', 'web'], async (scope) => {
    found = await findInStream(scope, new SecretUrl('/s.json'), sectorBytes);
  });
  let found: unknown;
  return runStep(finding, { host }).then(() => found);
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

  it.each([
    ['an unknown architecture', 'riscv64', 512],
    ['an architecture without metal images', 'aarch64', 512],
    ['a sector size without an image', 's390x', 4096],
  ])('contains no image for %s', async (_, architecture, sectorBytes) => {
    await expect(find(JSON.stringify(metadata), architecture, sectorBytes)).rejects.toMatchObject({
      code: 'image.not-in-stream',
      kind: 'input',
    });
  });

  it.each([
    ['not JSON', '<html>'],
    ['another document', '{"releases": []}'],
    ['an invalid digest', JSON.stringify(metadata).replaceAll('b'.repeat(64), 'b')],
  ])('is refused: %s', async (_, text) => {
    await expect(find(text, 'x86_64', 512)).rejects.toMatchObject({
      code: 'image.stream-unreadable',
      context: { origin: '/s.json' },
    });
  });
});
