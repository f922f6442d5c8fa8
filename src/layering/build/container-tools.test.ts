import { describe, expect, it } from 'vitest';
import { digestOf, repositoryOf } from '../../lib/image-name.ts';
import {
  baseTag,
  buildArgv,
  buildSteps,
  copyImageArgv,
  localConfigArgv,
  pushArgv,
} from './container-tools.ts';

const store = { storage: '/s', run: '/r' };
const words = ['--root', '/s', '--runroot', '/r', '--storage-driver', 'overlay'];

describe('container tool arguments', () => {
  it('build with their own store, trust settings and the names, not the values, of proxies', () => {
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
        },
      ),
    ).toEqual([
      'podman',
      ...words,
      ...['build', '--layers=false', '--format', 'oci', '--pull=missing', '--network', 'host'],
      ...['--security-opt', 'label=disable', '--authfile', '/auth', '--cert-dir', '/certs'],
      ...['--signature-policy', '/policy.json', '--build-arg', 'HTTP_PROXY'],
      ...['--volume', '/e:/etc/pki/entitlement:rw'],
      ...['--tag', 'localhost/x:1', '--file', '/c/Containerfile', '/c'],
    ]);
  });

  it('push with a digest file', () => {
    const push = { tag: 'localhost/x:1', to: 'r.example.com/x:1', digestFile: '/d' };
    expect(pushArgv({ name: 'buildah', store }, push)).toEqual([
      ...['buildah', ...words, 'push', '--quiet', '--digestfile', '/d'],
      ...['localhost/x:1', 'docker://r.example.com/x:1'],
    ]);
  });

  it.each([
    [{ name: 'buildah', store } as const, 'containers-storage:[overlay@/s+/r]x:1'],
    [{ name: 'buildah' } as const, 'containers-storage:x:1'],
  ])('name an image in the store', (builder, image) => {
    expect(localConfigArgv(builder, 'x:1').at(-1)).toBe(image);
  });
});

const digest = `sha256:${'a'.repeat(64)}`;

it('copyImageArgv preserves digests and gives each side its credentials', () => {
  const from = { image: `r.example.com/a@${digest}`, authFile: '/pull' };
  const to = { image: '192.0.2.2:5000/b:1', authFile: '/push', certificates: '/certs' };
  expect(copyImageArgv(from, to)).toEqual([
    ...['skopeo', 'copy', '--quiet', '--preserve-digests', '--src-authfile', '/pull'],
    ...['--dest-authfile', '/push', '--dest-cert-dir', '/certs'],
    ...[`docker://r.example.com/a@${digest}`, 'docker://192.0.2.2:5000/b:1'],
  ]);
});

it.each([
  [`r.example.com/a@${digest}`, digest, 'r.example.com/a', `base-${'a'.repeat(32)}`],
  ['r.example.com:5000/n/a:4.22', undefined, 'r.example.com:5000/n/a', 'base-4.22'],
])('reads the digest, the repository and the base tag of %s', (image, ...parts) => {
  expect([digestOf(image), repositoryOf(image), baseTag(image)]).toEqual(parts);
});

const containerfile = 'FROM a AS one\nRUN x && \\\n  y\nFROM one AS two\nLABEL z=1\n';

it('buildSteps counts steps across stages', () => {
  const steps = buildSteps(containerfile);
  const seen = [
    '[1/2] STEP 1/2: FROM a AS one',
    'STEP is a word that packages print too',
    '[1/2] STEP 2/2: RUN x &&   y',
    '[2/2] STEP 1/2: FROM one AS two',
    'STEP 2/2: LABEL z=1',
    'STEP 3/2: more than there are',
  ].map(steps);
  expect(seen).toEqual([
    { at: 1, of: 4 },
    undefined,
    { at: 2, of: 4 },
    { at: 3, of: 4 },
    { at: 4, of: 4 },
    { at: 4, of: 4 },
  ]);
});
