import { describe, expect, it } from 'vitest';
import { withoutSecretLooks } from './mask-text.ts';

const planted = 'planted7f3a9cToken';

describe('what looks like a secret', () => {
  it.each([
    ['a header', `> Authorization: Basic ${planted}`],
    ['a header in quotes', `"Authorization":"Bearer ${planted}"`],
    ['a member of a pull secret', `{"auths":{"r.example":{"auth":"${planted}"}}}`],
    ['JSON within JSON', `{\\"auth\\":\\"${planted}\\"}`],
    ['a variable', `REGISTRY_PASSWORD=${planted} dnf install`],
    ['a member in YAML', `client_secret: '${planted}'`],
    ['an address', `GET https://user:${planted}@proxy.example:3128/`],
    ['a token that is all the user', `https://${planted}@git.example/r.git`],
    ['a hash', `passwd -p $6$saltsalt$${planted}/x.yzabcdef`],
    ['a web token', `eyJhbGciOiJSUzI1NiJ9.${planted}.${planted}`],
    ['a key', `-----BEGIN RSA PRIVATE KEY-----\n${planted}\n-----END RSA PRIVATE KEY-----`],
    ['a key that is cut off', `-----BEGIN PRIVATE KEY-----\nab\n${planted}\n`],
  ])('is masked in %s', (_, text) => {
    expect(withoutSecretLooks(text)).not.toContain(planted);
    expect(withoutSecretLooks(text)).toContain('***');
  });

  it.each([
    'STEP 4/9: RUN rpm-ostree install tcpdump && ostree container commit',
    'renderedImagePushSecret:\n    name: push',
    'Trying to pull quay.io/release/os@sha256:aaaa...',
    'https://registry.example.com:5000/v2/ocl/master/manifests/latest',
    'podman run --authfile /root/.docker/config.json',
  ])('is not %s', (text) => {
    expect(withoutSecretLooks(text)).toBe(text);
  });

  it('is looked for in a long line in no time that grows with its square', () => {
    const text = `${'a'.repeat(400_000)}://${'-'.repeat(400_000)}`;
    expect(withoutSecretLooks(text)).toBe(text);
  });
});
