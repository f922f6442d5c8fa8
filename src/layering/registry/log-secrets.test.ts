import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { credentialsIn, lastPart, machineConfigShape, withoutSecretLooks } from './log-secrets.ts';

const inBase64 = (text: string): string => Buffer.from(text).toString('base64');

describe('lastPart', () => {
  it.each([
    ['a text within the limit', 'one\ntwo\n', 100, 'one\ntwo\n'],
    ['whole lines', 'one\ntwo\nthree\n', 8, '(earlier lines are left out)\nthree\n'],
    ['the end of one long line', 'abcdef', 3, '(earlier lines are left out)\ndef'],
    ['no text with a limit of 0', 'abc', 0, '(earlier lines are left out)\n'],
  ])('keeps %s', (...[, text, most, kept]) => {
    expect(lastPart(text, most)).toBe(kept);
  });
});

describe('credentialsIn', () => {
  const known = (text: string): readonly string[] =>
    credentialsIn(text).secrets.map((secret) => secret.reveal());

  it('finds the encoded pair, the pair, the password and tokens, but no user names', () => {
    const auth = inBase64('somebody:the-password');
    const entry = { auth, email: 'somebody@example.com', identitytoken: 'the-token' };
    const text = JSON.stringify({ auths: { 'quay.io': entry } });
    expect(known(text)).toEqual([auth, 'somebody:the-password', 'the-password', 'the-token']);
    expect(credentialsIn(text).registries).toEqual(['quay.io']);
  });

  it('finds tokens despite invalid entries for other registries', () => {
    const auths = { 'quay.io': { auth: 'the-token' }, 'a.example': null, 'b.example': 'x' };
    expect(known(JSON.stringify({ auths }))).toContain('the-token');
    expect(credentialsIn(JSON.stringify({ auths })).registries).toEqual(Object.keys(auths));
  });

  it('treats an unreadable pull secret as one secret', () => {
    expect(known('{"auths": [')).toEqual(['{"auths": [']);
    expect(known('')).toEqual([]);
  });
});

it('machineConfigShape keeps the members of a MachineConfig without their content', () => {
  const shape = machineConfigShape({
    kind: 'MachineConfig',
    metadata: { name: 'rendered-master-1' },
    spec: {
      osImageURL: 'quay.io/r/os@sha256:aa',
      kernelArguments: ['nosmt'],
      config: {
        ignition: { version: '3.5.0' },
        passwd: {
          users: [{ name: 'core', passwordHash: 'hidden', sshAuthorizedKeys: ['hidden'] }],
        },
        storage: {
          files: [{ path: '/etc/a', mode: 420, contents: { source: 'data:,hidden' } }],
        },
        systemd: { units: [{ name: 'a.service', enabled: true, contents: '[Unit]\nhidden' }] },
      },
    },
  });
  expect(shape).not.toContain('hidden');
  expect(parse(shape)).toMatchObject({
    spec: {
      osImageURL: 'quay.io/r/os@sha256:aa',
      kernelArguments: ['nosmt'],
      config: {
        passwd: { users: [{ name: 'core' }] },
        storage: {
          files: [{ path: '/etc/a', mode: 420, contents: { source: '(12 characters)' } }],
        },
        systemd: { units: [{ name: 'a.service', enabled: true }] },
      },
    },
  });
});

const planted = 'planted7f3a9cToken';

describe('withoutSecretLooks', () => {
  it.each([
    ['an HTTP header', `> Authorization: Basic ${planted}`],
    ['an HTTP header in quotes', `"Authorization":"Bearer ${planted}"`],
    ['a member of a pull secret', `{"auths":{"r.example":{"auth":"${planted}"}}}`],
    ['JSON within JSON', `{\\"auth\\":\\"${planted}\\"}`],
    ['a variable', `REGISTRY_PASSWORD=${planted} dnf install`],
    ['a member in YAML', `client_secret: '${planted}'`],
    ['a URL', `GET https://user:${planted}@proxy.example:3128/`],
    ['a URL whose password is not escaped', `GET http://user:p@${planted}#w@proxy.example:3128/`],
    ['a signed URL', `GET https://s3.example/a?X-Amz-Expires=9&X-Amz-Signature=${planted}`],
    ['a kernel argument for iSCSI', `ro netroot=iscsi:user:${planted}@192.0.2.1::3260::iqn.x`],
    ['a kernel argument for CIFS', `ro cifspass=${planted} quiet`],
    ['a kernel argument in quotes', `ro inst.rootpw="a ${planted}" quiet`],
    ['a kernel argument for systemd', `systemd.set_credential=key:${planted} quiet`],
    ['a key of an object store', `AWS_SECRET_ACCESS_KEY=${planted}`],
    ['a key of a wireless network', `[wifi-security]\npsk=${planted}`],
    ['a URL with a token as the user', `https://${planted}@git.example/r.git`],
    ['a password hash', `passwd -p $6$saltsalt$${planted}/x.yzabcdef`],
    ['a JSON Web Token', `eyJhbGciOiJSUzI1NiJ9.${planted}.${planted}`],
    ['a private key', `-----BEGIN RSA PRIVATE KEY-----\n${planted}\n-----END RSA PRIVATE KEY-----`],
    ['a private key that is cut off', `-----BEGIN PRIVATE KEY-----\nab\n${planted}\n`],
  ])('masks a secret in %s', (_, text) => {
    expect(withoutSecretLooks(text)).not.toContain(planted);
    expect(withoutSecretLooks(text)).toContain('***');
  });

  it.each([
    'STEP 4/9: RUN rpm-ostree install tcpdump && ostree container commit',
    'renderedImagePushSecret:\n    name: push',
    'Trying to pull quay.io/release/os@sha256:aaaa...',
    'https://registry.example.com:5000/v2/ocl/master/manifests/latest',
    'podman run --authfile /root/.docker/config.json',
  ])('keeps %s', (text) => {
    expect(withoutSecretLooks(text)).toBe(text);
  });
});
