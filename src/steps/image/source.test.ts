import { describe, expect, it } from 'vitest';
import { Config, type ConfigInput } from '../../config/schema.ts';
import { chooseImageSource, explainImage } from './source.ts';

const file = '/opt/metal.raw.gz';
const url = 'https://mirror.example/metal.raw.gz';
const stream = '/opt/stream.json';
const sha256 = 'a'.repeat(64);

type ImageInput = ConfigInput['image'];

describe('the image source', () => {
  it.each<[string, ImageInput, object]>([
    ['nothing', {}, { kind: 'live', isAsked: false }],
    ['the medium by name', { source: 'live', url }, { kind: 'live', isAsked: true }],
    ['a file', { file }, { kind: 'file', path: file }],
    ['a URL', { url }, { kind: 'url' }],
    ['a stream', { stream }, { kind: 'stream' }],
    ['all three', { file, url, stream }, { kind: 'file' }],
    ['a URL and a stream', { url, stream }, { kind: 'url' }],
    ['one by name', { file, url, stream, source: 'stream' }, { kind: 'stream' }],
    ['further arguments', { file, writerArgs: ['--append-karg', 'x'] }, { kind: 'file' }],
  ])('is found for %s', (_, image, expected) => {
    expect(chooseImageSource(Config.parse({ image }))).toMatchObject(expected);
  });

  it('is the address that was given', () => {
    const found = chooseImageSource(Config.parse({ image: { url: `${url}?sign=x` } }));
    expect(found.kind === 'url' && found.url.reveal()).toBe(`${url}?sign=x`);
  });

  it.each([
    [['--image-url', 'http://a.example']],
    [['--image-url=http://a.example']],
    [['--append-karg', 'x', '--image-file', '/a.raw']],
    [['-u', 'http://a.example']],
    [['-f/a.raw']],
    [['--stream', 'testing']],
    [['--offline']],
  ])('stands among the arguments of the writer: %j', (writerArgs) => {
    const config = Config.parse({ image: { file, writerArgs } });
    expect(chooseImageSource(config)).toMatchObject({ kind: 'writer-args' });
    expect(explainImage(config)).toContain('is among the coreos-installer arguments');
  });

  it.each<['file' | 'url' | 'stream']>([['file'], ['url'], ['stream']])(
    'is refused when it is %s by name and not set',
    (source) => {
      const config = Config.parse({ image: { source } });
      expect(() => chooseImageSource(config)).toThrow(
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
    ['the arguments of the writer', { sha256, writerArgs: ['--image-url', 'http://a.example'] }],
  ])('is refused when a digest is given that %s cannot be held against', (_, image) => {
    expect(() => chooseImageSource(Config.parse({ image }))).toThrow(
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
  ])('is explained: %j', (image, explanation) => {
    expect(explainImage(Config.parse({ image }))).toBe(explanation);
  });
});
