import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { credentialsIn, endOf, machineConfigShape, withoutSecretLooks } from './log-secrets.ts';

const inBase64 = (text: string): string => Buffer.from(text).toString('base64');

describe('endOf', () => {
  it.each([
    ['a text that fits', 'one\ntwo\n', 100, 'one\ntwo\n'],
    ['whole lines', 'one\ntwo\nthree\n', 8, '(earlier lines are left out)\nthree\n'],
    ['one line that is too long', 'abcdef', 3, '(earlier lines are left out)\ndef'],
    ['nothing', 'abc', 0, '(earlier lines are left out)\n'],
  ])('keeps %s', (...[, text, most, kept]) => {
    expect(endOf(text, most)).toBe(kept);
  });
});

describe('credentialsIn', () => {
  const known = (text: string): readonly string[] =>
    credentialsIn(text).secrets.map((secret) => secret.reveal());

  it('knows the pair, both parts of it and every token, and no name', () => {
    const auth = inBase64('somebody:the-password');
    const entry = { auth, email: 'somebody@example.com', identitytoken: 'the-token' };
    const text = JSON.stringify({ auths: { 'quay.io': entry } });
    expect(known(text)).toEqual([auth, 'somebody:the-password', 'the-password', 'the-token']);
    expect(credentialsIn(text).registries).toEqual(['quay.io']);
  });

  it('knows the tokens beside an entry that is none', () => {
    const auths = { 'quay.io': { auth: 'the-token' }, 'a.example': null, 'b.example': 'x' };
    expect(known(JSON.stringify({ auths }))).toContain('the-token');
    expect(credentialsIn(JSON.stringify({ auths })).registries).toEqual(Object.keys(auths));
  });

  it('takes what it cannot read for one secret', () => {
    expect(known('{"auths": [')).toEqual(['{"auths": [']);
    expect(known('')).toEqual([]);
  });
});

it('the shape of a MachineConfig shows what is there and no content', () => {
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

describe('what looks like a secret', () => {
  it.each([
    ['a header', `> Authorization: Basic ${planted}`],
    ['a header in quotes', `"Authorization":"Bearer ${planted}"`],
    ['a member of a pull secret', `{"auths":{"r.example":{"auth":"${planted}"}}}`],
    ['JSON within JSON', `{\\"auth\\":\\"${planted}\\"}`],
    ['a variable', `REGISTRY_PASSWORD=${planted} dnf install`],
    ['a member in YAML', `client_secret: '${planted}'`],
    ['an address', `GET https://user:${planted}@proxy.example:3128/`],
    ['a password that is not escaped', `GET http://user:p@${planted}#w@proxy.example:3128/`],
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
