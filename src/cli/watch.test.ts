import { describe, expect, it } from 'vitest';
import { addressIn, watchFlags } from './watch.ts';

const id = '11111111-1111-4111-8111-111111111111';

describe('the flags that a URL stands for', () => {
  it.each<[readonly string[], readonly string[]]>([
    [
      ['https://s:6008', '--cluster-id', id],
      ['--url', 'https://s:6008', '--cluster-id', id],
    ],
    [
      ['--cluster-id', id, 'https://s:6008'],
      ['--url', 'https://s:6008', '--cluster-id', id],
    ],
    [
      [`https://s:6008/base/api/assisted-install/v2/clusters/${id}?x=1`],
      ['--url', 'https://s:6008/base', '--cluster-id', id],
    ],
    [
      ['--insecure', 'http://s'],
      ['--url', 'http://s', '--insecure'],
    ],
    [
      ['--service.url', 'http://s'],
      ['--service.url', 'http://s'],
    ],
    [
      ['--cluster-id', id],
      ['--cluster-id', id],
    ],
    [
      ['--url', 'https://s'],
      ['--url', 'https://s'],
    ],
    [[], []],
  ])('%j', (argv, flags) => {
    expect(watchFlags(argv)).toEqual(flags);
  });
});

describe('where a page is served', () => {
  it.each([
    ['127.0.0.1:0', '127.0.0.1', 0],
    [':8080', '127.0.0.1', 8080],
    ['[::1]:8080', '::1', 8080],
    ['0.0.0.0:80', '0.0.0.0', 80],
    ['bastion.example.test:8080', 'bastion.example.test', 8080],
  ])('%s', (text, host, port) => {
    expect(addressIn(text)).toEqual({ host, port });
  });

  it.each(['', '8080', 'host', 'host:', 'host:99999', 'a b:80', '[::1:80', '<x>:1'])(
    'refuses %j',
    (text) => {
      expect(() => addressIn(text)).toThrow(/is no address/);
    },
  );
});
