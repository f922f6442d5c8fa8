import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { secretsIn } from './known-secrets.ts';

const secret = (key: string, content: string | Uint8Array, labels = {}) => ({
  metadata: { name: 's', labels },
  data: { [key]: Buffer.from(content as Uint8Array).toString('base64') },
});
const found = (...given: Parameters<typeof secret>): readonly string[] =>
  secretsIn(secret(...given)).map((one) => one.reveal());

const auth = Buffer.from('user:password-1').toString('base64');
const pullSecret = JSON.stringify({ auths: { 'r.test': { auth, email: 'me@r.test' } } });
const ignition = (mode: number): string =>
  JSON.stringify({
    ignition: { version: '3.2.0' },
    storage: { files: [{ path: '/etc/t', mode, contents: { source: 'data:,token-1' } }] },
  });

describe('what is secret in a Secret', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['a token', found('token', 'token-1\n'), ['token-1']],
    ['a key of several lines', found('tls.key', '-----BEGIN\nabc\n'), ['-----BEGIN\nabc']],
    [
      'a pull secret',
      found('.dockerconfigjson', pullSecret),
      [auth, 'user:password-1', 'password-1'],
    ],
    [
      'an install-config',
      found(
        'install-config.yaml',
        `metadata: {name: demo-cluster}\npullSecret: '${pullSecret}'\nhosts: [{bmc: {username: administrator, password: password-2}}]\n`,
      ),
      [auth, 'user:password-1', 'password-1', 'password-2'],
    ],
    [
      'a kubeconfig',
      found(
        'value',
        'clusters: [{cluster: {server: "https://api"}}]\nusers: [{user: {client-key-data: LS0tLS1C}}]\n',
      ),
      ['LS0tLS1C'],
    ],
    [
      'a manifest of a Secret',
      found('a.yaml', 'kind: Secret\nmetadata: {name: some-name}\ndata: {any: cGxhbnRlZA==}\n'),
      ['cGxhbnRlZA=='],
    ],
    ['an Ignition', found('value', ignition(0o600)), ['token-1']],
    [
      'an Ignition that is compressed',
      found('bootstrap.ign.gz', gzipSync(ignition(0o600))),
      ['token-1'],
    ],
    ['a file of an Ignition that all may read', found('value', ignition(0o644)), []],
    ['what is damaged', found('bootstrap.ign.gz', 'no archive'), []],
    ['a word that all texts are full of', found('format', 'ignition'), []],
    ['a word that is too short', found('token', 'abc'), []],
    [
      'the log of a host, which is masked',
      found('log.gz', gzipSync('x'), { 'bootwright.io/host-log': '' }),
      [],
    ],
  ])('%s', (_, all, expected) => {
    expect(all).toEqual(expected);
  });
});
