import { describe, expect, it } from 'vitest';
import { minutes } from '../model/duration.ts';
import { pageAfter } from '../page/fold.ts';
import { emptyPage, type PageUpdate } from '../page/state.ts';
import { addressIn, requireInstalled, watchFlags } from './watch.ts';

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

describe('the outcome of a page', () => {
  const failed: readonly PageUpdate[] = [
    { kind: 'cluster', at: 1, status: 'installing', info: '' },
    {
      kind: 'host',
      at: 1,
      id: 'a',
      name: 'm1',
      role: 'master',
      rail: [],
    },
    { kind: 'host-end', at: 2, host: 'a', isGood: false, text: 'no token-1 fits' },
  ];
  const end = (isGood: boolean): PageUpdate => ({
    ...{ kind: 'end', at: 3, isGood, text: isGood ? 'installed' : 'error', details: ['why'] },
  });
  const outcome = (...updates: readonly PageUpdate[]): void => {
    const page = updates.reduce(pageAfter, emptyPage('Installation', 'https://s', 0));
    requireInstalled(page, {
      limit: minutes(90),
      mask: (text) => text.replaceAll('token-1', '***'),
    });
  };

  it('is good once it says so', () => {
    expect(() => {
      outcome(...failed, end(true));
    }).not.toThrow();
  });

  it.each<[string, string, readonly PageUpdate[]]>([
    [
      'cli.not-installed',
      'https://s is not installed: error; why; m1: no *** fits',
      [...failed, end(false)],
    ],
    [
      'cli.not-installed-in-time',
      'https://s is not installed within 1 h 30 min: installing; m1: no *** fits',
      failed,
    ],
    [
      'cli.not-installed-in-time',
      'https://s is not installed within 1 h 30 min: refused',
      [{ kind: 'source', at: 1, lastError: 'refused' }],
    ],
    [
      'cli.not-installed-in-time',
      'https://s is not installed within 1 h 30 min: nothing is known of it',
      [],
    ],
  ])('%s: %s', (code, message, updates) => {
    expect(() => {
      outcome(...updates);
    }).toThrow(expect.objectContaining({ code, message }) as Error);
  });
});
