import { describe, expect, it } from 'vitest';
import { type Auth, refusalOf, tokenIssuer } from './auth.ts';

const known = { infraEnvIds: new Set(['i']), clusterIds: new Set(['c']) };
const { auth, issue } = tokenIssuer();
const other = tokenIssuer();
const none: Auth = { kind: 'none' };

describe('the token of a request', () => {
  it.each([
    { name: 'no authentication', auth: none, token: '', isGood: true },
    { name: 'a known infra-env', auth, token: issue({ infra_env_id: 'i' }), isGood: true },
    { name: 'a known cluster', auth, token: issue({ cluster_id: 'c' }), isGood: true },
    { name: 'an unknown infra-env', auth, token: issue({ infra_env_id: 'x' }), isGood: false },
    { name: 'another key', auth, token: other.issue({ infra_env_id: 'i' }), isGood: false },
    { name: 'no token', auth, token: '', isGood: false },
    { name: 'an invalid token', auth, token: 'a.b.c', isGood: false },
    { name: 'too few parts', auth, token: 'a.b', isGood: false },
  ])('$name: accepted is $isGood', ({ auth: how, token, isGood }) => {
    expect(refusalOf(how, token, known) === undefined).toBe(isGood);
  });
});
