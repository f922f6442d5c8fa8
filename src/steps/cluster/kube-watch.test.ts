import { expect, it } from 'vitest';
import { settle } from '../../../test/support/fake-clock.ts';
import type { Watch } from '../../engine/wait.ts';
import { gapIn, kubeFailure } from '../../ports/kube-failures.ts';
import { combineWatches } from './kube-watch.ts';

const answered = (code: Parameters<typeof kubeFailure>[0], status: number, path: string) =>
  kubeFailure(code, `GET ${path} answered ${status}`, { context: { status } });

it.each([
  [answered('kube.denied', 401, '/a'), 'the API server refuses the credentials (401)'],
  [answered('kube.denied', 403, '/a'), 'the API server refuses the credentials (403)'],
  [answered('kube.invalid', 400, '/a'), 'the API server refuses the request (400)'],
  [answered('kube.busy', 429, '/a'), 'the API server asks to wait (429)'],
  [answered('kube.failed', 503, '/a'), 'the API server does not answer (503)'],
  [answered('kube.failed', 503, '/b?watch=true'), 'the API server does not answer (503)'],
  [kubeFailure('kube.unreachable', 'no'), 'the API server does not answer (kube.unreachable)'],
  [kubeFailure('kube.no-credentials', 'no'), 'there is no kubeconfig for the cluster yet'],
])('gapIn describes %s by its cause', (lastError, text) => {
  expect(gapIn({ isSynced: true, lastError })).toBe(text);
});

it('gapIn returns undefined for a synced view and a text for an unsynced one', () => {
  expect(gapIn({ isSynced: true })).toBeUndefined();
  expect(gapIn({ isSynced: false })).toContain('not listed');
});

it('together joins several watches and ends with the last', async () => {
  const ended: string[] = [];
  const watch =
    (name: string, end: () => Promise<void>): Watch =>
    async (changed, signal) => {
      changed();
      await new Promise((resolve) => {
        signal.addEventListener('abort', resolve);
      });
      await end();
      ended.push(name);
    };
  const stop = new AbortController();
  let changes = 0;
  const watches = [watch('slow', settle), watch('quick', () => Promise.resolve())];
  const whole = combineWatches(...watches)(() => (changes += 1), stop.signal);
  stop.abort();
  await whole;
  expect([ended, changes]).toEqual([['quick', 'slow'], 2]);
});
