import { expect, it } from 'vitest';
import { installWords } from './collect-host.ts';

it.each([
  ['of a unit', ['/usr/bin/node', '/usr/bin/installer', 'install', '-r', 'master']],
  ['of the service', ['node', '--enable-source-maps', '/usr/bin/installer', '-r', 'master']],
])('installWords returns the flags of the command line %s', (_, argv) => {
  expect(installWords(argv)).toEqual(['-r', 'master']);
});
