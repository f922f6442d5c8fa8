import { expect, it } from 'vitest';
import { installerMask } from './installer-mask.ts';

const auth = 'dXNlcjpwYXNzd29yZA==';

it.each([
  ['an install-config', { config: `pullSecret: '{"auths":{"r.test":{"auth":"${auth}"}}}'` }],
  ['a state', { state: JSON.stringify({ config: { pullSecret: `{"auth":"${auth}"}` } }) }],
])('masks the secrets of %s in a log line', (_, given) => {
  const mask = installerMask(given);
  expect(mask(`cannot pull with ${auth}: refused`)).toBe('cannot pull with ***: refused');
  expect(mask('level=info msg="Consuming Install Config"')).toContain('Install Config');
});
