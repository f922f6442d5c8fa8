import { describe, expect, it } from 'vitest';
import { readKubeconfig } from './kubeconfig.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

interface Parts {
  readonly cluster?: object;
  readonly user?: object;
  readonly current?: string;
}

const kubeconfig = ({ cluster = {}, user = {}, current = 'admin' }: Parts = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: 'https://api-int.c.example:6443/', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [
      { name: 'other', context: { cluster: 'nowhere', user: 'nobody' } },
      { name: 'admin', context: { cluster: 'c', user: 'u' } },
    ],
    'current-context': current,
  });

const read = (parts: Parts) => readKubeconfig(kubeconfig(parts));

describe('readKubeconfig', () => {
  it('reads the kubeconfig that the installer writes', () => {
    const access = readKubeconfig(`
apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority-data: ${base64('CA')}
    server: https://api-int.c.example:6443
  name: c
contexts:
- context:
    cluster: c
    user: admin
  name: admin
current-context: admin
preferences: {}
users:
- name: admin
  user:
    client-certificate-data: ${base64('CERT')}
    client-key-data: ${base64('KEY')}
`);
    expect(access).toMatchObject({
      server: 'https://api-int.c.example:6443',
      ca: 'CA',
      certificate: 'CERT',
      isInsecure: false,
    });
    expect(access.key?.reveal()).toBe('KEY');
    expect(access.authorization).toBeUndefined();
  });

  it.each([
    ['a token', { token: 't' }, 'Bearer t'],
    ['a token with a trailing line break', { token: 't\n' }, 'Bearer t'],
    ['a token beside an exec plugin', { token: 't', exec: { command: 'aws' } }, 'Bearer t'],
    ['a username and a password', { username: 'a', password: 'b' }, `Basic ${base64('a:b')}`],
    ['a user without credentials', {}, undefined],
  ])('reads the authorization from %s', (_, user, authorization) => {
    expect(read({ user }).authorization?.reveal()).toBe(authorization);
  });

  it.each([
    ['HTTPS://API.c.example:6443', 'https://api.c.example:6443'],
    ['https://c.example/k8s/clusters/c-1/\n', 'https://c.example/k8s/clusters/c-1'],
  ])('normalizes the server %j to %s', (server, reached) => {
    expect(read({ cluster: { server } }).server).toBe(reached);
  });

  it('reads the proxy and does not reveal its password in JSON', () => {
    const cluster = { 'proxy-url': 'http://u:hidden@proxy.example:3128' };
    const { proxy } = read({ cluster });
    expect(proxy?.reveal()).toBe('http://u:hidden@proxy.example:3128');
    expect(JSON.stringify(proxy)).not.toContain('hidden');
    expect(read({ cluster: { 'proxy-url': '' } }).proxy).toBeUndefined();
  });

  it.each<[string, (text: string) => string]>([
    ['with a byte order mark', (text) => `\ufeff${text}`],
    ['with CRLF line breaks', (text) => text.replaceAll('\n', '\r\n')],
  ])('reads a kubeconfig %s', (_, written) => {
    const text =
      'current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a}]\nclusters: [{name: a, cluster: {server: https://a.example}}]\n';
    expect(readKubeconfig(written(text)).server).toBe('https://a.example');
  });

  it('reads tls-server-name, insecure-skip-tls-verify and impersonation', () => {
    const cluster = { 'tls-server-name': 'api.c', 'insecure-skip-tls-verify': true };
    expect(read({ cluster, user: { as: 'x' } })).toMatchObject({
      server: 'https://api-int.c.example:6443',
      serverName: 'api.c',
      isInsecure: true,
      impersonate: 'x',
    });
  });

  it.each([
    ['invalid YAML', '{ secret-key'],
    ['YAML that is not a mapping', 'secret-key'],
    ['a missing current context', { current: 'gone' }],
    ['a current context without its cluster', { current: 'other' }],
    ['an invalid server URL', { cluster: { server: 'ftp:x secret-key' } }],
    ['a server by an octal address', { cluster: { server: 'https://192.168.010.5/secret-key' } }],
    ['a proxy by a short address', { cluster: { 'proxy-url': 'http://u:secret-key@10.1:3128' } }],
    ['no server', { cluster: { server: '' } }],
    ['a reference to a CA file', { cluster: { 'certificate-authority': '/ca' } }],
    ['a reference to a key file', { user: { 'client-key': '/key' } }],
    ['a reference to a token file', { user: { tokenFile: '/token' } }],
    ['a password in the server', { cluster: { server: 'https://u:secret-key@c' } }],
    ['a SOCKS proxy', { cluster: { 'proxy-url': 'socks5://secret-key@p' } }],
    ['an invalid proxy URL', { cluster: { 'proxy-url': 'secret-key' } }],
    ['an exec plugin', { user: { exec: { command: 'aws', args: ['secret-key'] } } }],
    ['an auth provider', { user: { 'auth-provider': { name: 'secret-key' } } }],
    ['a token that is invalid in a header', { user: { token: 'secret-key\n€' } }],
    ['an impersonated user that is invalid in a header', { user: { as: 'secret-key\r\nX: y' } }],
    ['a reference to a token file by token-file', { user: { 'token-file': '/t' } }],
  ])('refuses %s without quoting the text', (_, given) => {
    const text = typeof given === 'string' ? given : kubeconfig(given);
    expect(() => readKubeconfig(text)).toThrow(
      expect.objectContaining({
        code: 'kube.bad-credentials',
        message: expect.not.stringContaining('secret-key') as string,
      }),
    );
  });
});
