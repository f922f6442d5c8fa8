import { describe, expect, it } from 'vitest';
import { containerLayer } from './container.ts';

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
