import { describe, expect, it } from 'vitest';
import { listenAddressOf } from './listen-address.ts';

describe('listenAddressOf', () => {
  it.each([
    [':9110', { port: 9110 }],
    ['127.0.0.1:9110', { host: '127.0.0.1', port: 9110 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
    ['[::1]:65535', { host: '::1', port: 65_535 }],
  ])('parses %s', (text, address) => {
    expect(listenAddressOf(text)).toEqual(address);
  });

  it.each(['', '9110', 'localhost', '::1:9110', 'host:65536', 'host:09', 'http://host:1', 'a b:1'])(
    'rejects %j',
    (text) => {
      expect(listenAddressOf(text)).toBeUndefined();
    },
  );
});
