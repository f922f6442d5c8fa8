import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { endOf } from './bounds.ts';
import { credentialsIn } from './credentials.ts';
import { machineConfigShape } from './machine-config-shape.ts';

const inBase64 = (text: string): string => Buffer.from(text).toString('base64');

describe('endOf', () => {
  it.each([
    ['a text that fits', 'one\ntwo\n', 100, 'one\ntwo\n'],
    ['whole lines', 'one\ntwo\nthree\n', 8, '(what was before this is left out)\nthree\n'],
    ['one line that is too long', 'abcdef', 3, '(what was before this is left out)\ndef'],
    ['nothing', 'abc', 0, '(what was before this is left out)\n'],
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
