import { expect, it } from 'vitest';
import { troubleIn } from './trouble.ts';

/** What skopeo 1.9, buildah 1.28 and podman 4.3 said to a real registry, and what dnf and librepo say. */
it.each([
  [
    'network',
    'level=fatal msg="writing blob: Post \\"https://127.0.0.1:44329/v2/ocl/master/blobs/uploads/\\": EOF"',
  ],
  [
    'network',
    'pinging container registry 127.0.0.1:1: Get "https://127.0.0.1:1/v2/": dial tcp 127.0.0.1:1: connect: connection refused',
  ],
  ['network', 'dial tcp: lookup r.example.com on 192.0.2.1:53: no such host'],
  ['network', 'read tcp 192.0.2.2:1->192.0.2.1:443: read: connection reset by peer'],
  ['network', 'net/http: TLS handshake timeout'],
  ['network', 'received unexpected HTTP status: 503 Service Unavailable'],
  ['network', 'Curl error (28): Timeout was reached for https://mirror.example.com/repodata'],
  ['denied', 'reading manifest 1 in r.example.com/a: unauthorized: authentication required'],
  ['denied', 'requested access to the resource is denied'],
  ['absent', 'reading manifest latest in r.example.com/a: manifest unknown: manifest unknown'],
  ['other', 'error: Packages not found: httpdd'],
  ['other', 'x509: certificate signed by unknown authority'],
  ['other', 'no space left on device'],
])('sees trouble of the kind %s in %j', (trouble, stderr) => {
  expect(troubleIn(stderr)).toBe(trouble);
});
