import { expect, it } from 'vitest';
import { id, wordsOfServiceError } from './inventory-client.ts';

it.each([
  [
    'of the service',
    '{"kind":"Error","id":409,"href":"","code":"409","reason":"no such stage"}',
    'no such stage',
  ],
  ['of its framework', '{"code":401,"message":"unauthenticated"}', 'unauthenticated'],
  [
    'of a proxy',
    '<html><title>502 Bad\tGateway</title></html>',
    'a page of HTML, "502 Bad\tGateway"',
  ],
  ['of an HTML page without a title', '<!DOCTYPE html><p>x', 'a page of HTML'],
  ['in plain text', 'upstream gone\nmore', 'upstream gone'],
  ['in a long sentence', `${'two masters '.repeat(60)}!`, `${'two masters '.repeat(60)}!`],
  ['in other JSON', '{"x":1}', '{"x":1}'],
  ['that is empty', '', ''],
  [
    'with a password',
    '{"reason":"no answer of http://u:s3cret@h/a?sig=s3cret"}',
    'no answer of http://***@h/a?***',
  ],
])('wordsOfServiceError reads an error body %s', (_, body, words) => {
  expect(wordsOfServiceError(body)).toBe(words);
});

it.each(['.', '..', 'a/b', '..%2f'])(
  'id refuses %j, which would change the path of the request',
  (text) => {
    expect(() => id(text)).toThrow(expect.objectContaining({ code: 'inventory.rejected' }));
  },
);
