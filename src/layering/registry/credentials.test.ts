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

it('writes a user in the forms of registry, curl and podman', () => {
  expect(passwordLine(user, new Uint8Array(16))).toMatch(
    /^bootwright:\$2b\$05\$[./A-Za-z0-9]{53}\n$/,
  );
  expect(curlCredentials(user)).toBe('user = "bootwright:secret"\n');
  const auth = Buffer.from('bootwright:secret').toString('base64');
  expect(JSON.parse(pullSecretOf('h:1', user))).toEqual({ auths: { 'h:1': { auth } } });
});

describe('mergePullSecrets', () => {
  it('lets the later one win', () => {
    const texts = ['{"auths":{"a":{"auth":"1"},"b":{"auth":"1"}}}', '{"auths":{"b":{"auth":"2"}}}'];
    const merged = mergePullSecrets(texts.map((text) => ({ from: 'f', text })));
    expect(JSON.parse(merged)).toEqual({ auths: { a: { auth: '1' }, b: { auth: '2' } } });
  });

  it('lets the later one win however the registry is written', () => {
    const texts = ['{"auths":{"r.io":1,"r.io/a":2,"q.io":3}}', '{"auths":{"https://R.io/v1/":4}}'];
    const merged = mergePullSecrets(texts.map((text) => ({ from: 'f', text })));
    expect(JSON.parse(merged)).toEqual({
      auths: { 'r.io/a': 2, 'q.io': 3, 'https://R.io/v1/': 4 },
    });
  });

  it('takes one that names no registry', () => {
    expect(mergePullSecrets([{ from: 'f', text: '{}' }])).toBe('{"auths":{}}');
  });

  it('never quotes what it cannot read', () => {
    const call = () => mergePullSecrets([{ from: 'f', text: 'hidden' }]);
    expect(call).toThrow(bad);
    expect(call).not.toThrow(/hidden/);
  });
});

describe('narrowedTo', () => {
  const secret = (auths: object) => ({ from: 'f', text: JSON.stringify({ auths }) });
  it.each([
    ['its host', { 'r.io': 1, other: 2 }, 'r.io'],
    ['its namespace before its host', { 'r.io': 1, 'r.io/team': 2 }, 'r.io/team'],
    ['itself before all', { 'r.io/team/os': 1, 'r.io/team': 2, 'r.io': 3 }, 'r.io/team/os'],
  ])('keeps what is there for %s', (_, auths, name) => {
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
  ])('knows %s', (key) => {
    const auths = { [key]: 1, 'r.example.com': 2, 'https://r.example.com:5001': 3 };
    const kept = narrowedTo('r.example.com:5000/team/os', secret(auths)) ?? '';
    const name = key.endsWith('team/') ? 'r.example.com:5000/team' : 'r.example.com:5000';
    expect(JSON.parse(kept)).toEqual({ auths: { [name]: 1 } });
  });

  it('prefers the name itself to an address', () => {
    const auths = { 'https://r.io/v1/': 1, 'r.io': 2, 'R.io/team/os': 3 };
    expect(JSON.parse(narrowedTo('r.io/team/os', secret(auths)) ?? '')).toEqual({
      auths: { 'r.io': 2 },
    });
  });

  it.each(['https://index.docker.io/v1/', 'registry-1.docker.io', 'index.docker.io'])(
    'knows docker.io by %s',
    (key) => {
      const kept = narrowedTo('docker.io/team/os', secret({ [key]: 1 })) ?? '';
      expect(JSON.parse(kept)).toEqual({ auths: { 'docker.io': 1 } });
    },
  );

  it('finds nothing for another host, nor for a name that only begins alike', () => {
    expect(narrowedTo('r.io/team/os', secret({ 'r.io/te': 1, 'r.io:5000': 2 }))).toBeUndefined();
  });

  it('never quotes what it cannot read', () => {
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
    ['the older form', { data: { '.dockercfg': base64(auths) } }],
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
