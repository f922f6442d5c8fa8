import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { SecretUrl } from './secret-url.ts';

it.each([
  ['https://user:word@host/path?sign=x', 'https://host/path', 'https://***@host/path?***'],
  ['https://host:8090', 'https://host:8090', 'https://host:8090'],
  ['/a/path/of/the/host', '/a/path/of/the/host', '/a/path/of/the/host'],
  ['', '', ''],
])('prints %s as %s, and as %s with the secrets marked', (text, shown, marked) => {
  const url = new SecretUrl(text);
  expect([String(url), JSON.stringify(url), inspect(url), inspect({ url })]).toEqual([
    ...[shown, JSON.stringify(shown), shown, `{ url: ${shown} }`],
  ]);
  expect([url.marked(), url.reveal(), url.isEmpty]).toEqual([marked, text, text === '']);
});
