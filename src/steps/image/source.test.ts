import { describe, expect, it } from 'vitest';
import { Config, type ConfigInput } from '../../config/schema.ts';
import { explainImage, resolveImage } from './source.ts';

const file = '/opt/metal.raw.gz';
const url = 'https://mirror.example/metal.raw.gz';
const stream = '/opt/stream.json';
const sha256 = 'a'.repeat(64);

type ImageInput = ConfigInput['image'];

describe('resolveImage', () => {
  it.each<[string, ImageInput, object]>([
    ['no settings', {}, { kind: 'live' }],
    ['source live', { source: 'live', url }, { kind: 'live' }],
    ['a file', { file }, { kind: 'file' }],
    ['a URL', { url }, { kind: 'url' }],
    ['a stream', { stream }, { kind: 'stream' }],
    ['all three', { file, url, stream }, { kind: 'file' }],
    ['a URL and a stream', { url, stream }, { kind: 'url' }],
    ['source stream', { file, url, stream, source: 'stream' }, { kind: 'stream' }],
    [
      'a file and other writer arguments',
      { file, writerArgs: ['--append-karg', 'x'] },
      { kind: 'file' },
    ],
  ])('finds the source for %s', (_, image, expected) => {
    expect(resolveImage(Config.parse({ image }))).toMatchObject(expected);
  });

  it('keeps the whole URL', () => {
    const found = resolveImage(Config.parse({ image: { url: `${url}?sign=x` } }));
    expect(found.place.reveal()).toBe(`${url}?sign=x`);
  });

  it.each([
    [['--image-url', 'https://a.example']],
    [['-u', 'https://a.example']],
    [['-f/a.raw']],
    [['--stream', 'testing']],
    [['--offline']],
  ])('finds the source in the writer arguments: %j', (writerArgs) => {
    const config = Config.parse({ image: { file, writerArgs } });
    expect(resolveImage(config)).toMatchObject({ kind: 'writer-args' });
    expect(explainImage(config)).toContain('is among the coreos-installer arguments');
  });

  it.each<['file' | 'url' | 'stream']>([['file'], ['url'], ['stream']])(
    'refuses source %s when it is not set',
    (source) => {
      const config = Config.parse({ image: { source } });
      expect(() => resolveImage(config)).toThrow(
        expect.objectContaining({
          code: 'image.not-configured',
          context: { key: `image.${source}` },
        }),
      );
      expect(explainImage(config)).toContain(`image.${source} is not set`);
    },
  );

  it.each<[string, ImageInput]>([
    ['the live medium', { sha256 }],
    ['the writer arguments', { sha256, writerArgs: ['--image-url', 'https://a.example'] }],
  ])('refuses a digest with %s', (_, image) => {
    expect(() => resolveImage(Config.parse({ image }))).toThrow(
      expect.objectContaining({ code: 'image.digest-unusable', kind: 'input' }),
    );
  });

  it.each<[ImageInput, string]>([
    [{}, 'from the live medium: no other image is configured'],
    [
      { url: 'https://u:s3cretpw@mirror.example/metal.raw.gz?sig=abc' },
      `from ${url}: image.url is set`,
    ],
    [{ url, sha256 }, `from ${url}: image.url is set; its sha256 is enforced`],
    [
      { stream, nodeImage: 'q.example/n:4.16' },
      `from the stream ${stream}: image.stream is set; its sha256 is enforced; q.example/n:4.16 is checked against the release`,
    ],
  ])('explains %j', (image, explanation) => {
    expect(explainImage(Config.parse({ image }))).toBe(explanation);
  });
});

describe('an unverified image', () => {
  const http = 'http://a.example/i.raw';
  it.each<[string, ConfigInput]>([
    ['a URL', { image: { url: http } }],
    ['a stream', { image: { stream: 'http://a.example/stream.json' } }],
    ['writer arguments', { image: { writerArgs: ['-u', http] } }],
  ])('is refused from %s over plain HTTP unless it is allowed or a service is set', (_, input) => {
    const config = (differs: ConfigInput['image'], service = '') =>
      Config.parse({ service: { url: service }, image: { ...input.image, ...differs } });
    expect(() => resolveImage(config({}))).toThrow(
      expect.objectContaining({ code: 'image.unverified', kind: 'input' }),
    );
    expect(explainImage(config({}))).toContain('nothing verifies');
    for (const asked of [config({ allowUnverified: true }), config({}, 'http://svc')]) {
      expect(resolveImage(asked).kind).toMatch(/url|stream|writer-args/);
      expect(explainImage(asked)).toContain('nothing verifies it: http://a.example/');
    }
  });

  it.each<[string, ConfigInput]>([
    ['https', { image: { url: 'https://a.example/i.raw' } }],
    ['a digest', { image: { url: http, sha256: 'a'.repeat(64) } }],
    ['a file', { image: { file: '/i.raw' } }],
    ['the medium', {}],
  ])('is not assumed for %s', (_, input) => {
    expect(resolveImage(Config.parse(input)).unverified).toBeUndefined();
  });
});
