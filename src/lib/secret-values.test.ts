import { expect, it } from 'vitest';
import { Secret } from '../model/secret.ts';
import { secretValues } from './secret-values.ts';

it('returns secret settings and the secrets within URLs', () => {
  const settings = {
    service: { token: new Secret('the-token') },
    image: { url: 'http://user:s3cretpw@mirror.example/a.raw?X-Sig=abcdef' },
  };
  expect(secretValues(settings).map((secret) => secret.reveal())).toEqual([
    'the-token',
    'user:s3cretpw',
    's3cretpw',
    'X-Sig=abcdef',
  ]);
});
