import { describe, expect, it } from 'vitest';
import { Secret } from '../model/secret.ts';
import { containerLayer, secretFrom, secretsToRead } from './files.ts';

const file = (image: string): string =>
  [
    'engine="podman-5.4.0"',
    'name="assisted-installer"',
    'id="0b1c"',
    `image="${image}"`,
    'imageid="sha256:77aa"',
    'rootless=0',
    'graphRootMounted=1',
    '',
  ].join('\n');

describe('what a container tells of itself', () => {
  it.each([
    ['quay.io/bootwright/bootwright:v1', 'quay.io/bootwright/bootwright:v1'],
    ['registry.example:5000/b@sha256:00ff', 'registry.example:5000/b@sha256:00ff'],
  ])('is its image %s', (image, value) => {
    expect([...containerLayer(file(image))]).toEqual([
      ['images.self', { value, origin: 'container' }],
    ]);
  });

  it.each([
    ['an unprivileged container', ''],
    ['an image that is only on this host', file('localhost/bootwright:latest')],
    ['an image without a name', file('')],
    ['another file', 'imageid="x"\nimage=quay.io/b'],
  ])('is nothing for %s', (_, text) => {
    expect(containerLayer(text).size).toBe(0);
  });
});

describe('secretsToRead', () => {
  it('names the file of a secret that nothing else gives', () => {
    const given = new Map([['service.tokenFile', { value: '/t', origin: 'flag' }] as const]);
    expect(secretsToRead(given)).toEqual([{ key: 'service.token', path: '/t', origin: 'flag' }]);
  });

  it('leaves the file alone when the environment gives the secret', () => {
    const given = new Map([
      ['service.tokenFile', { value: '/t', origin: 'flag' }] as const,
      ['service.token', { value: new Secret('x'), origin: 'environment' }] as const,
    ]);
    expect(secretsToRead(given)).toEqual([]);
  });
});

describe('secretFrom', () => {
  it('takes the line break at the end away', () => {
    const { value, origin } = secretFrom('abc\n', '/t');
    expect((value as Secret).reveal()).toBe('abc');
    expect(origin).toBe('file /t');
  });
});
