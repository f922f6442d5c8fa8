import { describe, expect, it } from 'vitest';
import type { OsDeployment, OsStatus } from '../../os/status.ts';
import { arrivalOf } from './marker.ts';

const deployment = (image: string): OsDeployment => ({
  image,
  checksum: image,
  isPinned: false,
  verification: 'none',
});
const status = (booted: string, more: Partial<OsStatus> = {}): OsStatus => ({
  booted: deployment(booted),
  others: [],
  isBusy: false,
  ...more,
});

describe('a host that was rebooted into an image', () => {
  it.each<[string, readonly [OsStatus, number], ReturnType<typeof arrivalOf>]>([
    ['has lost it three times', [status('old'), 3], 'refused'],
    [
      'did not boot the pending deployment',
      [status('old', { pending: deployment('new') }), 1],
      'refused',
    ],
    [
      'has it among the other deployments',
      [status('old', { others: [deployment('new')] }), 1],
      'refused',
    ],
    ['has only other images', [status('old', { rollback: deployment('x') }), 2], 'again'],
  ])('%s', (_, [seen, boots], arrival) => {
    expect(arrivalOf(seen, 'new', boots)).toBe(arrival);
  });
});
