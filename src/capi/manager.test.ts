import { expect, it } from 'vitest';
import type { Controller } from '../kube/manager.ts';
import type { Gap } from '../kube/informer.ts';
import { hasSynced } from './manager.ts';

it('is ready once every kind is listed, and stays ready while the API server is unreachable', () => {
  const gaps: (Gap | undefined)[] = [undefined, { reason: 'nothing was listed yet', since: 0 }];
  const controllers = gaps.map(
    (_, at) => ({ reads: [{ gap: () => gaps[at] }] }) as unknown as Controller,
  );
  const isReady = hasSynced(controllers);
  expect(isReady()).toBe(false);
  gaps[1] = undefined;
  expect(isReady()).toBe(true);
  gaps[0] = { reason: 'no route', since: 1 };
  expect(isReady()).toBe(true);
});
