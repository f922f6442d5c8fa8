import { expect, it } from 'vitest';
import { installerMask } from './installer.ts';

const auth = 'dXNlcjpwYXNzd29yZA==';

it.each([
  ['an install-config', { config: `pullSecret: '{"auths":{"r.test":{"auth":"${auth}"}}}'` }],
  ['a state', { state: JSON.stringify({ config: { pullSecret: `{"auth":"${auth}"}` } }) }],
])('masks the secrets of %s in a log line', (_, given) => {
  const mask = installerMask(given);
  expect(mask(`cannot pull with ${auth}: refused`)).toBe('cannot pull with ***: refused');
  expect(mask('level=info msg="Consuming Install Config"')).toContain('Install Config');
});

it('masks the password of an address that the installer cannot read', () => {
  const proxy = 'http://admin:s3cr%t@proxy.test:3128';
  const line = `proxy.httpProxy: Invalid value: "${proxy}": parse "${proxy}": invalid URL escape "%t@"`;
  const masked = installerMask({ config: `proxy:\n  httpProxy: ${proxy}\n` })(line);
  expect(masked).toContain('proxy.httpProxy: Invalid value: "http://***@proxy.test:3128"');
  expect(masked).not.toContain('s3cr');
});
