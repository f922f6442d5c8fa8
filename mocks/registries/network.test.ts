import { describe, expect, it } from 'vitest';
import { registriesWithBase } from '../../src/layering/build/build-plan.ts';
import { credentialsIn, placesOf, registryNetwork } from './network.ts';

const users = [
  { credentials: 'reader:1', may: 'pull' },
  { credentials: 'writer:2', may: 'push' },
] as const;
const image = 'r.test/ocl/master:x';
const request = { by: 'b1', verb: 'pull', image, credentials: 'reader:1' } as const;

describe('the registries of a run', () => {
  it.each([
    ['a reader pull', request, undefined],
    ['a writer push', { ...request, verb: 'push', credentials: 'writer:2' }, undefined],
    ['a stranger', { ...request, credentials: undefined }, 'unauthorized'],
    ['a reader push', { ...request, verb: 'push' }, 'denied: '],
    [
      'anybody at a registry that there is not',
      { ...request, image: 'x.test/a:b' },
      'no such host',
    ],
    ['anybody at one that is far', { ...request, image: 'far.test/a:b' }, 'no route to host'],
  ] as const)('answer %s', (_, asked, words) => {
    const network = registryNetwork([
      { host: 'r.test', users },
      { host: 'far.test', users, isUnreachable: true },
    ]);
    const said = network.reach(asked);
    if (words === undefined) expect(said).toBeUndefined();
    else expect(said).toContain(words);
    expect(network.asked).toMatchObject([{ by: 'b1', verb: asked.verb, refusal: said }]);
  });

  it('let one die at its first push, for a time', () => {
    let now = 0;
    const network = registryNetwork([{ host: 'r.test', users, diesForSeconds: 2 }], () => now);
    const push = { ...request, verb: 'push', credentials: 'writer:2' } as const;
    expect(network.reach(request)).toBeUndefined();
    expect(network.reach(push)).toContain('connection reset');
    now = 1000;
    expect(network.reach(request)).toContain('connection refused');
    now = 2000;
    expect(network.reach(push)).toBeUndefined();
  });
});

describe('credentialsIn', () => {
  it('finds those of a registry', () => {
    const secret = JSON.stringify({
      auths: { 'r.test': { auth: Buffer.from('a:b').toString('base64') } },
    });
    expect(credentialsIn(secret, 'r.test')).toBe('a:b');
    expect(credentialsIn(secret, 'other.test')).toBeUndefined();
  });
});

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
