import { expect, it } from 'vitest';
import { proxyFor } from './connection.ts';

function expectBypass(url: string, bypassing: readonly string[], others: readonly string[]): void {
  const proxy = 'http://p.example';
  const proxyWith = (no: string) => proxyFor(new URL(url), { http: proxy, https: proxy, no });
  for (const list of bypassing) expect(proxyWith(list), list).toBeUndefined();
  for (const list of others) expect(proxyWith(list), list).toBe(proxy);
}

it.each([
  [
    'http://api.example.com',
    ['*', 'example.com', '.example.com', '*.example.com'],
    ['', 'example.com:6443', '10.0.0.0/8'],
  ],
  [
    'https://api.example.com',
    ['example.com:443', 'example.com.', 'quay.io example.com'],
    [' , ,', '.', ':443'],
  ],
  ['https://example.com', ['example.com'], ['.example.com', '*.example.com']],
  ['http://badexample.com', [], ['example.com']],
  ['http://API.Example.COM.', ['other, Example.com'], []],
  ['http://api.example.com:6443', ['example.com:6443'], []],
  ['https://example.com.', ['EXAMPLE.com.:443'], []],
  ['https://api.example.com.', ['.example.com.'], []],
  [
    'https://api.bücher.example',
    ['Bücher.example', '*.bücher.example:443', '.xn--bcher-kva.example'],
    [],
  ],
  ['https://bücher.example', [], ['.bücher.example']],
  ['https://api.bucher.example', [], ['bücher.example']],
])('proxyFor bypasses the proxy for the name of %s with %j, not with %j', expectBypass);

it.each([
  ...['localhost:8080', '127.0.0.1', '[::1]:8080', '[::ffff:127.0.0.1]:8080'].map(
    (host): [string, [string], []] => [`http://${host}`, [''], []],
  ),
  [
    'https://10.1.2.3',
    [
      ...['10.0.0.0/8', '10.9.9.9/8', '10.1.2.3'],
      ...['::ffff:10.1.2.3', '::ffff:a01:203', '::ffff:10.0.0.0/104'],
    ],
    [
      ...['::/0', 'fd00::/64', '::ffff:10.0.0.0/95', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/99'],
      ...['10.0.0.0/8/8', '2.3', '.2.3'],
    ],
  ],
  ['https://11.1.2.3', [], ['10.0.0.0/8', '::ffff:10.0.0.0/104']],
  ['http://10.1.2.3:22623', ['10.1.2.3:22623'], []],
  ['https://[::ffff:10.1.2.3]', ['10.1.2.3', '10.0.0.0/8'], []],
  [
    'https://[fd00::20]',
    ['fd00::20', '[FD00:0:0::20]:0443', 'FD00:0000::/16', '[fd00::]/16', '::/0'],
    ['fd00::21', '0.0.0.0/0'],
  ],
  ['https://[fd00::20]:6443', ['fd00::/64', '[FD00:0::0020]:6443'], ['[fd00:0::20]:443']],
  ['http://[fd00::5]:80', ['[fd00::5]:80'], []],
  [
    'https://[fd2e:6f44:5dd8:c956::20]:6443',
    ['fd2e:6f44:5dd8:c956:0:0:0:20', 'FD2E:6F44:5DD8:C956:0000::0020'],
    [],
  ],
  ['https://[fd2e:6f44:5dd8:c956:0:0:0:20]', ['[fd2e:6f44:5dd8:c956::20]'], []],
  ['https://[fe80::5]', ['fe80::5%ens3', '[fe80::5%ens3]:443'], []],
])('proxyFor bypasses the proxy for the address of %s with %j, not with %j', expectBypass);

const proxies = {
  http: 'http://plain.example:3128',
  https: 'http://secure.example:3129',
  no: 'quay.io',
};

it.each([
  ['http://service.example', 'http://plain.example:3128'],
  ['https://service.example', 'http://secure.example:3129'],
  ['https://quay.io', undefined],
])('proxyFor selects for %s the proxy %s', (url, expected) => {
  expect(proxyFor(new URL(url), proxies)).toBe(expected);
});
