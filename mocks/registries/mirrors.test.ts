import { describe, expect, it } from 'vitest';
import { registriesWithBase } from '../../src/layering/build/build-plan.ts';
import { placesOf } from './mirrors.ts';

const settings = `unqualified-search-registries = []

[[registry]]
  prefix = "quay.test/release"
  location = "elsewhere.test/release"
  [[registry.mirror]]
    location = "mirror.test:8443/release"

[[registry]]
  location = "quay.test/release/os"
  [[registry.mirror]]
    location = "near.test/os"
  [[registry.mirror]]
    location = "far.test/os"
`;

describe('placesOf', () => {
  it.each([
    ['other.test/a@sha256:1', ['other.test/a@sha256:1']],
    ['quay.test/released/a:b', ['quay.test/released/a:b']],
    [
      'quay.test/release/cli@sha256:1',
      ['mirror.test:8443/release/cli@sha256:1', 'quay.test/release/cli@sha256:1'],
    ],
    [
      'quay.test/release/os@sha256:1',
      ['near.test/os@sha256:1', 'far.test/os@sha256:1', 'quay.test/release/os@sha256:1'],
    ],
  ])('goes by the longest prefix for %s', (image, places) => {
    expect(placesOf(settings, image)).toEqual(places);
  });

  it('reads what the agent adds for the base of a build', () => {
    const base = `quay.test/release/os@sha256:${'a'.repeat(64)}`;
    const staged = `10.0.0.1:22626/layering/os@sha256:${'a'.repeat(64)}`;
    expect(placesOf(registriesWithBase('', { base, staged }), base)).toEqual([staged, base]);
  });
});
