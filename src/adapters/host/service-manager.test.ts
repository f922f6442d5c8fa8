import { describe, expect, it } from 'vitest';
import { serviceManager, watchdogOf } from './service-manager.ts';

describe('the watchdog of a service manager', () => {
  it.each([
    ['is not asked for', {}, undefined],
    ['is ours', { WATCHDOG_USEC: '30000000', WATCHDOG_PID: '7' }, 30_000],
    ['is of any process', { WATCHDOG_USEC: '500000' }, 500],
    ['is of another process', { WATCHDOG_USEC: '30000000', WATCHDOG_PID: '8' }, undefined],
    ['has no time', { WATCHDOG_USEC: '0' }, undefined],
    ['has a time that is none', { WATCHDOG_USEC: 'soon' }, undefined],
  ])('%s', (_, environment, every) => {
    expect(watchdogOf(environment, 7)).toBe(every);
  });
});

it('without a socket there is no manager', () => {
  expect(
    serviceManager({ environment: { NOTIFY_SOCKET: '', WATCHDOG_USEC: '1' } }),
  ).toBeUndefined();
});
