import { describe, expect, it } from 'vitest';
import { pullSamples, recorded } from '../../test/support/os-samples.ts';
import { classifyPullError, readPullError, updateDriverIn } from './pull-failure.ts';

const refused =
  'pinging container registry 10.0.2.2:5999: Get "http://10.0.2.2:5999/v2/": dial tcp 10.0.2.2:5999: connect: connection refused';

describe('readPullError', () => {
  it.each([
    ['bootc-1.16.9/error-gone.txt', 'registry-unreachable', refused],
    [
      'bootc-1.16.9/error-no-tag.txt',
      'not-found',
      'reading manifest none in 10.0.2.2:5000/lab/os: manifest unknown',
    ],
    [
      'bootc-1.16.9/error-architecture.txt',
      'wrong-architecture',
      'Image has architecture arm64; expected amd64',
    ],
    [
      'bootc-1.16.9/error-unauthorized.txt',
      'not-authorized',
      'reading manifest 2 in 10.0.2.2:5001/lab/os: authentication required',
    ],
    [
      'bootc-1.16.9/error-policy.txt',
      undefined,
      'containers-policy.json specifies a default of `insecureAcceptAnything`; refusing usage',
    ],
    [
      'bootc-1.16.9/error-full.txt',
      'no-room',
      "min-free-space-percent '3%' would be exceeded, at least 4.1\u{A0}kB requested",
    ],
    ['rpm-ostree-2026.2/error-gone.txt', 'registry-unreachable', refused],
    [
      'rpm-ostree-2026.2/error-architecture.txt',
      'wrong-architecture',
      'Image has architecture arm64; expected amd64',
    ],
    ['rpm-ostree-2026.2/error-after-staging.txt', undefined, 'No package database found'],
  ])('reads %s: %s', (name, kind, cause) => {
    expect(readPullError(recorded(name))).toEqual({ kind, cause });
  });

  it('names the logically bound image that failed', () => {
    const { bound, kind, cause } = readPullError(recorded('bootc-1.16.9/error-bound.txt'));
    expect([bound, kind]).toEqual(['10.0.2.2:5999/lab/bound:1', 'registry-unreachable']);
    expect(cause).toContain('connection refused');
  });

  it('reads the numbered causes of `ostree container`', () => {
    const { kind, cause } = readPullError(pullSamples.cut);
    expect([kind, cause]).toEqual(['pull-cut', expect.stringContaining('unexpected EOF')]);
  });
});

it('updateDriverIn returns the update driver that rpm-ostree names', () => {
  // rpm-ostree, src/app/rpmostree-clientlib.cxx.
  const stderr = `error: Updates and deployments are driven by Zincati (zincati.service)
See Zincati's documentation at https://github.com/coreos/zincati
Use --bypass-driver to bypass Zincati and perform the operation anyways`;
  expect(updateDriverIn(stderr)).toBe('Zincati (zincati.service)');
  expect(updateDriverIn('error: No upgrade available.')).toBeUndefined();
});

/**
 * Messages of skopeo 1.9, buildah 1.28 and podman 4.3 with a real registry, and of dnf and librepo.
 */
it.each([
  [
    'pull-cut',
    'level=fatal msg="writing blob: Post \\"https://127.0.0.1:44329/v2/ocl/master/blobs/uploads/\\": EOF"',
  ],
  [
    'registry-unreachable',
    'pinging container registry 127.0.0.1:1: Get "https://127.0.0.1:1/v2/": dial tcp 127.0.0.1:1: connect: connection refused',
  ],
  ['registry-unreachable', 'dial tcp: lookup r.example.com on 192.0.2.1:53: no such host'],
  ['pull-cut', 'read tcp 192.0.2.2:1->192.0.2.1:443: read: connection reset by peer'],
  ['registry-unreachable', 'net/http: TLS handshake timeout'],
  ['registry-unreachable', 'received unexpected HTTP status: 503 Service Unavailable'],
  [
    'registry-unreachable',
    'Curl error (28): Timeout was reached for https://mirror.example.com/repodata',
  ],
  [
    'not-authorized',
    'reading manifest 1 in r.example.com/a: unauthorized: authentication required',
  ],
  ['not-authorized', 'requested access to the resource is denied'],
  ['not-found', 'reading manifest latest in r.example.com/a: manifest unknown: manifest unknown'],
  [undefined, 'error: Packages not found: httpdd'],
  [undefined, 'x509: certificate signed by unknown authority'],
  ['no-room', 'no space left on device'],
  [undefined, 'cannot access /x: Permission denied: it is read-only'],
])('classifyPullError returns %s for %j', (cause, stderr) => {
  expect(classifyPullError(stderr)).toBe(cause);
});
