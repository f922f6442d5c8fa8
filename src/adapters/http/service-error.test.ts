import { describe, expect, it } from 'vitest';
import { id, wordsOfServiceError } from './inventory-client.ts';

describe('the words of an error body', () => {
  it.each([
    [
      'of the domain',
      '{"kind":"Error","id":409,"href":"","code":"409","reason":"no such stage"}',
      'no such stage',
    ],
    ['of the framework', '{"code":401,"message":"unauthenticated"}', 'unauthenticated'],
    [
      'of a proxy',
      '<html><title>502 Bad\tGateway</title></html>',
      'a page of HTML, "502 Bad\tGateway"',
    ],
    ['of a page without a title', '<!DOCTYPE html><p>x', 'a page of HTML'],
    ['in plain text', 'upstream gone\nmore', 'upstream gone'],
    ['in a long sentence', `${'two masters '.repeat(60)}!`, `${'two masters '.repeat(60)}!`],
    ['in other JSON', '{"x":1}', '{"x":1}'],
    ['that is empty', '', ''],
  ])('%s', (_, body, words) => {
    expect(wordsOfServiceError(body)).toBe(words);
  });
});

it.each(['.', '..', 'a/b', '..%2f'])(
  'no address is made of an id that leads elsewhere: %j',
  (text) => {
    expect(() => id(text)).toThrow(
      expect.objectContaining({ code: 'inventory.rejected' }) as Error,
    );
  },
);
