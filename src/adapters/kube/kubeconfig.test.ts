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

describe('a kubeconfig', () => {
  it('is read as the installer writes it', () => {
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

  it.each<[string, object, string | undefined]>([
    ['a token', { token: 't' }, 'Bearer t'],
    ['a token with a line break behind it', { token: 't\n' }, 'Bearer t'],
    ['a token beside a program', { token: 't', exec: { command: 'aws' } }, 'Bearer t'],
    ['a name and a password', { username: 'a', password: 'b' }, `Basic ${base64('a:b')}`],
    ['nothing', {}, undefined],
  ])('authorizes by %s', (_, user, authorization) => {
    expect(readKubeconfig(kubeconfig({ user })).authorization?.reveal()).toBe(authorization);
  });

  it.each([
    ['HTTPS://API.c.example:6443', 'https://api.c.example:6443'],
    ['https://c.example/k8s/clusters/c-1/\n', 'https://c.example/k8s/clusters/c-1'],
  ])('reaches %j at %s', (server, reached) => {
    expect(readKubeconfig(kubeconfig({ cluster: { server } })).server).toBe(reached);
  });

  it('keeps the password of its proxy to itself', () => {
    const cluster = { 'proxy-url': 'http://u:hidden@proxy.example:3128' };
    const { proxy } = readKubeconfig(kubeconfig({ cluster }));
    expect(proxy?.reveal()).toBe('http://u:hidden@proxy.example:3128');
    expect(JSON.stringify(proxy)).not.toContain('hidden');
    expect(readKubeconfig(kubeconfig({ cluster: { 'proxy-url': '' } })).proxy).toBeUndefined();
  });

  it.each<[string, (text: string) => string]>([
    ['with a mark of its encoding', (text) => `\ufeff${text}`],
    ['with line ends of Windows', (text) => text.replaceAll('\n', '\r\n')],
  ])('is read %s', (_, written) => {
    const text =
      'current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a}]\nclusters: [{name: a, cluster: {server: https://a.example}}]\n';
    expect(readKubeconfig(written(text)).server).toBe('https://a.example');
  });

  it('takes the name that the server proves, and whether it must', () => {
    const cluster = { 'tls-server-name': 'api.c', 'insecure-skip-tls-verify': true };
    expect(readKubeconfig(kubeconfig({ cluster, user: { as: 'x' } }))).toMatchObject({
      server: 'https://api-int.c.example:6443',
      serverName: 'api.c',
      isInsecure: true,
      impersonate: 'x',
    });
  });

  it.each<[string, string]>([
    ['text that is no YAML', '{ secret-key'],
    ['text that is no mapping', 'secret-key'],
    ['a current context that is not there', kubeconfig({ current: 'gone' })],
    ['a current context without its cluster', kubeconfig({ current: 'other' })],
    ['a server that is no URL', kubeconfig({ cluster: { server: 'ftp:x secret-key' } })],
    ['no server', kubeconfig({ cluster: { server: '' } })],
    ['the file of a CA', kubeconfig({ cluster: { 'certificate-authority': '/ca' } })],
    ['the file of a key', kubeconfig({ user: { 'client-key': '/key' } })],
    ['the file of a token', kubeconfig({ user: { tokenFile: '/token' } })],
    ['a password in the server', kubeconfig({ cluster: { server: 'https://u:secret-key@c' } })],
    ['a proxy of another kind', kubeconfig({ cluster: { 'proxy-url': 'socks5://secret-key@p' } })],
    ['a proxy that is no URL', kubeconfig({ cluster: { 'proxy-url': 'secret-key' } })],
    ['a program', kubeconfig({ user: { exec: { command: 'aws', args: ['secret-key'] } } })],
    ['a provider', kubeconfig({ user: { 'auth-provider': { name: 'secret-key' } } })],
    ['a token that no header carries', kubeconfig({ user: { token: 'secret-key\n€' } })],
    ['a user that no header carries', kubeconfig({ user: { as: 'secret-key\r\nX: y' } })],
    ['the file of a token, as the client has it', kubeconfig({ user: { 'token-file': '/t' } })],
  ])('is refused with %s, and its text is not shown', (_, text) => {
    expect(() => readKubeconfig(text)).toThrow(
      expect.objectContaining({
        code: 'kube.bad-credentials',
        message: expect.not.stringContaining('secret-key') as string,
      }) as Error,
    );
  });
});
