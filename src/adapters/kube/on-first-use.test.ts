import { expect, it } from 'vitest';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import type { KubeKind } from '../../ports/kube.ts';
import { onFirstUse } from './on-first-use.ts';

const nodes: KubeKind = { group: '', version: 'v1', plural: 'nodes' };
const { signal } = new AbortController();

function counted() {
  const count = { loads: 0, closes: 0 };
  const kube = onFirstUse(() => {
    count.loads += 1;
    const close = (): Promise<void> => {
      count.closes += 1;
      return Promise.resolve();
    };
    return Promise.resolve({ ...fakeKube().put(nodes, { metadata: { name: 'm0' } }), close });
  });
  return { kube, count };
}

it('does not load or close an unused client', async () => {
  const { kube, count } = counted();
  await kube.close();
  expect(count).toEqual({ loads: 0, closes: 0 });
});

it('loads the client once and closes it', async () => {
  const { kube, count } = counted();
  expect(await kube.list({ kind: nodes }, signal)).toHaveLength(1);
  expect(await kube.get({ kind: nodes, name: 'm0' }, signal)).toBeDefined();
  await kube.follow({ kind: nodes }, () => undefined, AbortSignal.abort());
  await kube.close();
  expect(count).toEqual({ loads: 1, closes: 1 });
});
