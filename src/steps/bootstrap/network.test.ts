import { describe, expect, it } from 'vitest';
import { fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep } from '../../../test/support/run-step.ts';
import { isHostname, setHostname } from './network.ts';

const kernel = '/proc/sys/kernel/hostname';
const hostNamed = (name: string): FakeHost =>
  fakeHost()
    .withFile(kernel, `${name}\n`)
    .on(['hostnamectl', 'set-hostname', rest])
    .answers((argv, host) => {
      host.withFile(kernel, `${argv[2] ?? ''}\n`);
    });

describe('isHostname', () => {
  it.each([
    ['master-0', true],
    ['a1', true],
    ['master-0.example.com', true],
    ['localhost.localdomain', true],
    ['a'.repeat(63), true],
    ['a'.repeat(64), false],
    ['localhost', false],
    ['a', false],
    ['', false],
    ['Master', false],
    ['-a', false],
    ['a-', false],
    ['a_b', false],
    ['ab\ncd', false],
  ])('for %j is %s', (name, isUsable) => {
    expect(isHostname(name)).toBe(isUsable);
  });
});

describe('bootstrap/set-hostname', () => {
  it.each(['localhost', '', 'MASTER'])('replaces the name %j by a random name', async (name) => {
    const host = hostNamed(name);
    await runStep(setHostname, { host });
    expect(host.ran).toEqual([
      ['hostnamectl', 'set-hostname', 'random-hostname-00000000-0000-4000-8000-000000000001'],
    ]);
  });
});
