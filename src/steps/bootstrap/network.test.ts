import { describe, expect, it } from 'vitest';
import { fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import { isHostname, restartNetwork, setHostname } from './network.ts';

const kernel = '/proc/sys/kernel/hostname';
const hostNamed = (name: string): FakeHost =>
  fakeHost()
    .withFile(kernel, `${name}\n`)
    .on(['hostnamectl', 'set-hostname', rest])
    .answers((argv, host) => {
      host.withFile(kernel, `${argv[2] ?? ''}\n`);
    });

describe('a host name', () => {
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
  ])('%j is usable: %s', (name, isUsable) => {
    expect(isHostname(name)).toBe(isUsable);
  });
});

describe('bootstrap/set-hostname', () => {
  it('leaves a good name alone', async () => {
    const host = hostNamed('master-0');
    await runStep(setHostname, { host });
    expect(host.ran).toEqual([]);
  });

  it.each(['localhost', '', 'MASTER'])('replaces the name %j by one of chance', async (name) => {
    const host = hostNamed(name);
    await runStep(setHostname, { host });
    expect(host.ran).toEqual([
      ['hostnamectl', 'set-hostname', 'random-hostname-00000000-0000-4000-8000-000000000001'],
    ]);
  });

  it('ends the run when the name cannot be set', async () => {
    const host = hostNamed('localhost').on(['hostnamectl', rest]).fails(1, 'denied');
    const { failure } = await tryStep(setHostname, { host });
    expect(failure).toMatchObject({ code: 'command.failed' });
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(setHostname, () => ({ host: hostNamed('localhost') }));
    expect.hasAssertions();
  });
});

describe('bootstrap/restart-network', () => {
  const network = ['systemctl', 'restart', 'NetworkManager.service'];

  it.each([0, 3, 5])('restarts NetworkManager with %d control-plane nodes', async (count) => {
    const host = fakeHost().on(network).succeeds();
    await runStep(restartNetwork, { host, config: { cluster: { controlPlaneCount: count } } });
    expect(host.ran).toEqual([network]);
  });

  it('takes no part with a single node', async () => {
    const host = fakeHost();
    await runStep(restartNetwork, { host, config: { cluster: { controlPlaneCount: 1 } } });
    expect(host.ran).toEqual([]);
  });
});
