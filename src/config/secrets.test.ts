import { describe, expect, it } from 'vitest';
import { Secret } from '../model/secret.ts';
import { secretFrom, secretsToRead } from './secrets.ts';

describe('secretsToRead', () => {
  it('names the file of a secret that nothing else gives', () => {
    const given = new Map([['service.tokenFile', { value: '/t', origin: 'flag' }] as const]);
    expect(secretsToRead(given)).toEqual([{ key: 'service.token', path: '/t', origin: 'flag' }]);
  });

  it('leaves the file alone when the environment gives the secret', () => {
    const given = new Map([
      ['service.tokenFile', { value: '/t', origin: 'flag' }] as const,
      ['service.token', { value: new Secret('x'), origin: 'environment' }] as const,
    ]);
    expect(secretsToRead(given)).toEqual([]);
  });
});

describe('secretFrom', () => {
  it('takes the line break at the end away', () => {
    const { value, origin } = secretFrom('abc\n', '/t');
    expect((value as Secret).reveal()).toBe('abc');
    expect(origin).toBe('file /t');
  });
});
