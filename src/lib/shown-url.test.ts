import { describe, expect, it } from 'vitest';
import { hiddenInUrls, shownUrl, shownUrlsIn } from './shown-url.ts';

const signed = 'https://user:s3cretpw@mirror.example:8443/a/metal.raw.gz?sig=abc#x';

describe('an address as it is shown', () => {
  it.each([
    [signed, 'https://mirror.example:8443/a/metal.raw.gz'],
    ['http://a.example', 'http://a.example'],
    ['http://a.example/?x=1', 'http://a.example'],
    ['http://[fd00::1]:80/b', 'http://[fd00::1]/b'],
    ['/opt/stream.json', '/opt/stream.json'],
    ['', ''],
  ])('%s reads %s', (address, shown) => {
    expect(shownUrl(address)).toBe(shown);
  });

  it('may be a URL', () => {
    expect(shownUrl(new URL(signed))).toBe('https://mirror.example:8443/a/metal.raw.gz');
  });
});

it.each([
  [`--image-url=${signed}`, '--image-url=https://mirror.example:8443/a/metal.raw.gz'],
  [`fetching '${signed}': 403`, "fetching 'https://mirror.example:8443/a/metal.raw.gz': 403"],
  ['http://[broken?sig=abc', 'http://[broken'],
  ['no address', 'no address'],
])('shows the addresses in %j', (text, shown) => {
  expect(shownUrlsIn(text)).toBe(shown);
});

it('names what must be hidden of addresses among words', () => {
  expect(hiddenInUrls(['--image-url', signed, '--stream=x', 'http://a.example/b'])).toEqual([
    'user:s3cretpw',
    's3cretpw',
    'sig=abc',
  ]);
});
