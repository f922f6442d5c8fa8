import { describe, expect, it } from 'vitest';
import {
  type BuilderName,
  buildArgv,
  chooseBuilder,
  localConfigArgv,
  pushArgv,
} from './builder.ts';

describe('chooseBuilder', () => {
  it.each<[readonly BuilderName[], BuilderName | undefined]>([
    [['buildah', 'podman'], 'buildah'],
    [['podman'], 'podman'],
    [[], undefined],
  ])('takes of %j %s', (there, name) => {
    expect(chooseBuilder(new Set(there))?.name).toBe(name);
  });
});

const store = { storage: '/s', run: '/r' };
const words = ['--root', '/s', '--runroot', '/r', '--storage-driver', 'overlay'];

describe('the words of a build', () => {
  it('name a store of its own, what it trusts, and only the names of proxies', () => {
    expect(
      buildArgv(
        { name: 'podman', store },
        {
          context: '/c',
          containerfile: '/c/Containerfile',
          tag: 'localhost/x:1',
          authFile: '/auth',
          certificates: '/certs',
          policy: '/policy.json',
          buildArguments: ['HTTP_PROXY'],
          volumes: ['/e:/etc/pki/entitlement:rw'],
          labels: { 'a.b': 'c' },
        },
      ),
    ).toEqual([
      'podman',
      ...words,
      ...['build', '--layers=false', '--format', 'oci', '--pull=missing', '--network', 'host'],
      ...['--security-opt', 'label=disable', '--authfile', '/auth', '--cert-dir', '/certs'],
      ...['--signature-policy', '/policy.json', '--build-arg', 'HTTP_PROXY'],
      ...['--label', 'a.b=c', '--volume', '/e:/etc/pki/entitlement:rw'],
      ...['--tag', 'localhost/x:1', '--file', '/c/Containerfile', '/c'],
    ]);
  });

  it('push with a file for the digest', () => {
    const push = { tag: 'localhost/x:1', to: 'r.example.com/x:1', digestFile: '/d' };
    expect(pushArgv({ name: 'buildah', store }, push)).toEqual([
      ...['buildah', ...words, 'push', '--quiet', '--digestfile', '/d'],
      ...['localhost/x:1', 'docker://r.example.com/x:1'],
    ]);
  });

  it.each([
    [{ name: 'buildah', store } as const, 'containers-storage:[overlay@/s+/r]x:1'],
    [{ name: 'buildah' } as const, 'containers-storage:x:1'],
  ])('name an image of the store', (builder, image) => {
    expect(localConfigArgv(builder, 'x:1').at(-1)).toBe(image);
  });
});
