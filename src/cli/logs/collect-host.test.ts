import { expect, it } from 'vitest';
import { bootwright } from '../program/commands.ts';
import { installWords } from './collect-host.ts';

it.each<[string, readonly string[]]>([
  ['of a unit', ['/usr/bin/node', '/usr/bin/installer', 'install', '-r', 'master']],
  ['of the service', ['node', '--enable-source-maps', '/usr/bin/installer', '-r', 'master']],
])('finds the flags in the command line %s', (_, argv) => {
  expect(installWords(argv)).toEqual(['-r', 'master']);
});

it.each<[string, readonly string[], RegExp]>([
  ['a key without hosts', ['--ssh-key', 'k'], /without --hosts/],
  ['flags of an install beside hosts', ['--hosts', 'm1', '-r', 'master'], /-r beside --hosts/],
  ['an option of ssh as a host', ['--hosts', 'm1,-oProxyCommand=x'], /is no name of a host/],
  ['a user', ['--hosts', 'root@m1'], /is no name of a host/],
  ['an empty name', ['--hosts', 'm1,,m2'], /"" is no name of a host/],
  ['a key that is not there', ['--hosts', 'm1', '--ssh-key', '/nowhere/k'], /cannot be read/],
  ['a folder that is not there', ['--hosts', 'm1', '--output', '/nowhere'], /cannot be written to/],
])('refuses %s before anything is run', async (_, words, message) => {
  await expect(bootwright().run(['logs', 'collect', ...words])).rejects.toThrow(message);
});
