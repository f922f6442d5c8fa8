import { expect, it } from 'vitest';
import { fakeKube } from '../../test/support/fake-kube.ts';
import { nodes } from './kinds.ts';
import { patchOf, readAgain } from './object.ts';

const live = new AbortController().signal;
const ref = { kind: nodes, name: 'a' };
const node = (uid: string) => ({ metadata: { name: 'a', uid } });

it('reads an object again, but not a new one of the same name', async () => {
  const kube = fakeKube().put(nodes, node('1'));
  expect(await readAgain(kube, ref, node('1'), live)).toMatchObject(node('1'));
  kube.drop(ref);
  expect(await readAgain(kube, ref, node('1'), live)).toBeUndefined();
  kube.put(nodes, node('2'));
  expect(await readAgain(kube, ref, node('1'), live)).toBeUndefined();
});

it('does not patch an object that has changed since it was read', async () => {
  const kube = fakeKube().put(nodes, node('1'));
  const [seen = node('1')] = kube.objectsOf(nodes);
  const patch = patchOf(seen, { metadata: { labels: { a: 'b' } } });
  kube.put(nodes, { ...node('1'), spec: { unschedulable: true } });
  const refused = { code: 'kube.conflict' };
  await expect(kube.patch(ref, patch, live)).rejects.toMatchObject(refused);
  expect(patch.body).toMatchObject({ metadata: { uid: '1', labels: { a: 'b' } } });
  expect(kube.objectsOf(nodes)[0]?.metadata.labels).toBeUndefined();
});
