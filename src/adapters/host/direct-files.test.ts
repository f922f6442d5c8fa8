import { expect, it } from 'vitest';
import { directPath } from './direct-files.ts';

it.each([
  ['/', '/opt/install-dir/master.ign', '/opt/install-dir/master.ign'],
  ['/', '/dev/disk/by-id/x', '/dev/disk/by-id/x'],
  ['/lab/host-1', '/var/log/agent.log', '/lab/host-1/var/log/agent.log'],
  ['/', '/etc/pki/ca.pem', '/etc/pki/ca.pem'],
  ['/', '/etc/hostname', undefined],
  ['/', '/optional/file', undefined],
  ['/', '/var/lib', undefined],
  ['/', '/opt/../etc/shadow', undefined],
  ['/lab', '/tmp/../../etc/shadow', undefined],
])('below %s, %s is seen at %s', (root, path, at) => {
  expect(directPath(root, path)).toBe(at);
});
