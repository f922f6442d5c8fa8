import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { lineless } from '../api/source-object.ts';
import {
  curlCredentials,
  mergePullSecrets,
  narrowedTo,
  passwordLine,
  pullSecretIn,
  pullSecretOf,
} from './credentials.ts';

const user = { name: 'bootwright', password: 'secret' };
const bad = expect.objectContaining({ code: 'layering.bad-credentials' }) as Error;

it('writes a user for the registry, for curl and for podman', () => {
  expect(passwordLine(user, new Uint8Array(16))).toMatch(
    /^bootwright:\$2b\$05\$[./A-Za-z0-9]{53}\n$/,
  );
  expect(curlCredentials(user)).toBe('user = "bootwright:secret"\n');
  const auth = Buffer.from('bootwright:secret').toString('base64');
  expect(JSON.parse(pullSecretOf('h:1', user))).toEqual({ auths: { 'h:1': { auth } } });
});

describe('mergePullSecrets', () => {
  it('prefers the later pull secret for any spelling of the registry', () => {
    const texts = ['{"auths":{"r.io":1,"r.io/a":2,"q.io":3}}', '{"auths":{"https://R.io/v1/":4}}'];
    const merged = mergePullSecrets(texts.map((text) => ({ from: 'f', text })));
    expect(JSON.parse(merged)).toEqual({
      auths: { 'r.io/a': 2, 'q.io': 3, 'https://R.io/v1/': 4 },
    });
  });

  it('accepts a pull secret without registries', () => {
    expect(mergePullSecrets([{ from: 'f', text: '{}' }])).toBe('{"auths":{}}');
  });

  it('does not quote an unreadable pull secret', () => {
    const call = () => mergePullSecrets([{ from: 'f', text: 'hidden' }]);
    expect(call).toThrow(bad);
    expect(call).not.toThrow(/hidden/);
  });
});

describe('narrowedTo', () => {
  const secret = (auths: object) => ({ from: 'f', text: JSON.stringify({ auths }) });
  it.each([
    ['the host', { 'r.io': 1, other: 2 }, 'r.io'],
    ['the namespace rather than the host', { 'r.io': 1, 'r.io/team': 2 }, 'r.io/team'],
    [
      'the repository rather than the namespace and the host',
      { 'r.io/team/os': 1, 'r.io/team': 2, 'r.io': 3 },
      'r.io/team/os',
    ],
  ])('keeps the entry of %s', (_, auths, name) => {
    const kept = JSON.parse(narrowedTo('r.io/team/os', secret(auths)) ?? '') as { auths: object };
    expect(Object.keys(kept.auths)).toEqual([name]);
  });

  it.each([
    ['https://r.example.com:5000'],
    ['https://r.example.com:5000/'],
    ['http://r.example.com:5000/v1/'],
    ['https://r.example.com:5000/v2/'],
    ['https://r.example.com:5000/team/os'],
    ['HTTPS://R.Example.com:5000'],
    ['R.example.COM:5000'],
    ['r.example.com:5000/'],
    ['r.example.com:5000/v2/'],
    ['r.example.com:5000/team/'],
  ])('matches the key %s', (key) => {
    const auths = { [key]: 1, 'r.example.com': 2, 'https://r.example.com:5001': 3 };
    const kept = narrowedTo('r.example.com:5000/team/os', secret(auths)) ?? '';
    const name = key.endsWith('team/') ? 'r.example.com:5000/team' : 'r.example.com:5000';
    expect(JSON.parse(kept)).toEqual({ auths: { [name]: 1 } });
  });

  it('prefers a plain name to a URL', () => {
    const auths = { 'https://r.io/v1/': 1, 'r.io': 2, 'R.io/team/os': 3 };
    expect(JSON.parse(narrowedTo('r.io/team/os', secret(auths)) ?? '')).toEqual({
      auths: { 'r.io': 2 },
    });
  });

  it.each(['https://index.docker.io/v1/', 'registry-1.docker.io', 'index.docker.io'])(
    'matches docker.io by the key %s',
    (key) => {
      const kept = narrowedTo('docker.io/team/os', secret({ [key]: 1 })) ?? '';
      expect(JSON.parse(kept)).toEqual({ auths: { 'docker.io': 1 } });
    },
  );

  it('returns undefined for another port and for a partial namespace', () => {
    expect(narrowedTo('r.io/team/os', secret({ 'r.io/te': 1, 'r.io:5000': 2 }))).toBeUndefined();
  });

  it('returns the entry of a registry without accounts', () => {
    const auths = { 'r.io': { auth: '' } };
    expect(narrowedTo('r.io/team/os', secret(auths))).toBe(JSON.stringify({ auths }));
  });

  it.each([{}, { identitytoken: '' }, { username: 'u', password: 'p' }])(
    'returns undefined for the entry %j, which holds no credentials',
    (entry) => {
      const auths = { 'r.io/team': entry, 'r.io': { auth: 'x' } };
      expect(narrowedTo('r.io/team/os', secret(auths))).toBeUndefined();
    },
  );

  it('does not quote an unreadable pull secret', () => {
    const call = () => narrowedTo('r.io/os', { from: 'f', text: 'hidden' });
    expect(call).toThrow(bad);
    expect(call).not.toThrow(/hidden/);
  });
});

describe('pullSecretIn', () => {
  const auths = { 'r.example.com': { auth: 'x' } };
  const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64');
  it.each([
    ['data', { data: { '.dockerconfigjson': base64({ auths }) } }],
    ['stringData', { stringData: { '.dockerconfigjson': JSON.stringify({ auths }) } }],
    ['.dockercfg', { data: { '.dockercfg': base64(auths) } }],
  ])('reads a Secret with %s', (_, members) => {
    const secret = lineless({ kind: 'Secret', ...members }, 's.yaml');
    expect(JSON.parse(pullSecretIn(secret))).toEqual({ auths });
  });

  it.each([
    [{ kind: 'ConfigMap', data: { '.dockerconfigjson': base64({ auths }) } }],
    [{ kind: 'Secret', data: { password: 'x' } }],
    [{ kind: 'Secret', data: { '.dockerconfigjson': 'no JSON' } }],
  ])('refuses %j', (object) => {
    expect(() => pullSecretIn(lineless(object, 's.yaml'))).toThrow(bad);
  });
});
