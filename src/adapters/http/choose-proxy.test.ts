import { describe, expect, it } from 'vitest';
import { proxyFor } from './choose-proxy.ts';

describe('proxyFor with a list of exceptions', () => {
  it.each([
    ['http://api.example.com', '', false],
    ['http://api.example.com', '*', true],
    ['http://api.example.com', 'example.com', true],
    ['http://example.com', 'example.com', true],
    ['http://example.com', '.example.com', false],
    ['http://api.example.com', '.example.com', true],
    ['http://api.example.com', '*.example.com', true],
    ['http://badexample.com', 'example.com', false],
    ['http://API.Example.COM.', 'other, Example.com', true],
    ['http://api.example.com:6443', 'example.com:6443', true],
    ['http://api.example.com', 'example.com:6443', false],
    ['https://api.example.com', 'example.com:443', true],
    ['http://10.1.2.3', '10.0.0.0/8', true],
    ['http://11.1.2.3', '10.0.0.0/8', false],
    ['http://10.1.2.3', '10.1.2.3', true],
    ['http://10.1.2.3:22623', '10.1.2.3:22623', true],
    ['http://[fd00::5]:22623', 'fd00::/64', true],
    ['http://[fd00::5]', 'fd00::5', true],
    ['http://[fd00::5]:80', '[fd00::5]:80', true],
    ['http://10.1.2.3', 'fd00::/64', false],
    ['http://api.example.com', '10.0.0.0/8', false],
    ['http://10.1.2.3', '10.0.0.0/99', false],
    ['http://localhost:8080', '', true],
    ['http://127.0.0.1', '', true],
    ['http://[::1]:8080', '', true],
    ['http://[::ffff:127.0.0.1]:8080', '', true],
    ['https://[fd2e:6f44:5dd8:c956::20]:6443', 'fd2e:6f44:5dd8:c956:0:0:0:20', true],
    ['https://[fd2e:6f44:5dd8:c956::20]:6443', 'FD2E:6F44:5DD8:C956:0000::0020', true],
    ['https://[fd2e:6f44:5dd8:c956:0:0:0:20]', '[fd2e:6f44:5dd8:c956::20]', true],
    ['https://[fd00::20]:6443', '[FD00:0::0020]:6443', true],
    ['https://[fd00::20]:6443', '[fd00:0::20]:443', false],
    ['https://[fd00::20]', '[FD00:0:0::20]:0443', true],
    ['https://[fd00::20]', 'fd00::21', false],
    ['https://[fd00::20]', 'FD00:0000::/16', true],
    ['https://[fd00::20]', '[fd00::]/16', true],
    ['https://[fd00::20]', '0.0.0.0/0', false],
    ['https://[fd00::20]', '::/0', true],
    ['https://10.1.2.3', '::/0', false],
    ['https://[::ffff:10.1.2.3]', '10.1.2.3', true],
    ['https://[::ffff:10.1.2.3]', '10.0.0.0/8', true],
    ['https://10.1.2.3', '::ffff:10.1.2.3', true],
    ['https://10.1.2.3', '::ffff:a01:203', true],
    ['https://10.1.2.3', '::ffff:10.0.0.0/104', true],
    ['https://11.1.2.3', '::ffff:10.0.0.0/104', false],
    ['https://10.1.2.3', '::ffff:10.0.0.0/95', false],
    ['https://10.1.2.3', '10.9.9.9/8', true],
    ['https://10.1.2.3', '10.0.0.0/', false],
    ['https://10.1.2.3', '10.0.0.0/-1', false],
    ['https://10.1.2.3', '10.0.0.0/8/8', false],
    ['https://10.1.2.3', '2.3', false],
    ['https://10.1.2.3', '.2.3', false],
    ['https://[fe80::5]', 'fe80::5%ens3', true],
    ['https://[fe80::5]', '[fe80::5%ens3]:443', true],
    ['https://api.example.com', 'example.com.', true],
    ['https://example.com.', 'EXAMPLE.com.:443', true],
    ['https://api.example.com.', '.example.com.', true],
    ['https://example.com', '*.example.com', false],
    ['https://api.example.com', 'quay.io example.com', true],
    ['https://api.bücher.example', 'Bücher.example', true],
    ['https://api.bücher.example', '*.bücher.example:443', true],
    ['https://api.bücher.example', '.xn--bcher-kva.example', true],
    ['https://bücher.example', '.bücher.example', false],
    ['https://api.bucher.example', 'bücher.example', false],
    ['https://api.example.com', ' , ,', false],
    ['https://api.example.com', '.', false],
    ['https://api.example.com', ':443', false],
  ])('bypasses the proxy for %s with %j: %s', (url, list, expected) => {
    const proxies = { http: 'http://p.example', https: 'http://p.example', no: list };
    expect(proxyFor(new URL(url), proxies) === undefined).toBe(expected);
  });
});

describe('proxyFor', () => {
  const proxies = {
    http: 'http://plain.example:3128',
    https: 'http://secure.example:3129',
    no: 'quay.io',
  };

  it.each([
    ['http://service.example', 'http://plain.example:3128'],
    ['https://service.example', 'http://secure.example:3129'],
    ['https://quay.io', undefined],
  ])('selects for %s the proxy %s', (url, expected) => {
    expect(proxyFor(new URL(url), proxies)).toBe(expected);
  });
});
