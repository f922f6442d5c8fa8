// The part about deletion of the suite for every Kube: at once, or after finalizers and kubelets
// release an object.
import { beforeEach, describe, expect, it } from 'vitest';
import { configMaps, pods, serviceAccounts } from '../../src/kube/kinds.ts';
import type { KubeObject, KubeRef } from '../../src/ports/kube.ts';
import type { KubeWorld } from './kube-world.ts';

const namespace = 'default';
const live = new AbortController().signal;

/** Runs the suite; `named` makes names that are unique to a test. */
export function endingSuite(world: () => KubeWorld, named: (suffix: string) => string): void {
  const refOf = (suffix: string) => ({ kind: configMaps, namespace, name: named(suffix) });
  const held = (suffix: string, finalizer = 'example.com/held'): KubeObject => {
    const metadata = {
      name: named(suffix),
      namespace,
      finalizers: [finalizer],
    };
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata };
  };
  const letGo = (suffix: string): Promise<KubeObject> => {
    const body = { metadata: { finalizers: null } };
    return world().kube.patch(refOf(suffix), { type: 'merge', body }, live);
  };

  describe('an object with a finalizer', () => {
    it('keeps its name until its last finalizer is removed', async () => {
      const { kube } = world();
      await world().put(configMaps, held('a'));
      const before = await kube.get(refOf('a'), live);
      await kube.remove(refOf('a'), live);
      await kube.remove(refOf('a'), live);
      const marked = await kube.get(refOf('a'), live);
      expect(marked?.metadata.uid).toBe(before?.metadata.uid);
      expect(marked?.metadata.deletionTimestamp).toMatch(/Z$/);
      const created = kube.create({ kind: configMaps, namespace }, held('a'), live);
      await expect(created).rejects.toMatchObject({ code: 'kube.conflict' });
      await letGo('a');
      expect(await kube.get(refOf('a'), live)).toBeUndefined();
      const next = await kube.create({ kind: configMaps, namespace }, held('a'), live);
      expect(next.metadata.uid).not.toBe(before?.metadata.uid);
      await letGo('a');
    });

    it('is deleted at once if only the garbage collector holds it', async () => {
      const { kube } = world();
      await world().put(configMaps, held('a', 'foregroundDeletion'));
      await kube.remove(refOf('a'), live);
      expect(await kube.get(refOf('a'), live)).toBeUndefined();
    });
  });

  describe('a pod', () => {
    beforeEach(() =>
      world().put(serviceAccounts, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'default', namespace },
      }),
    );
    const podRef = (): KubeRef & { readonly namespace: string } => ({
      kind: pods,
      namespace,
      name: named('pod'),
    });
    const podWith = (spec: object): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: named('pod'), namespace },
      spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
    });
    const onNode = { nodeName: 'n0' };
    const removed = async (): Promise<void> => world().kube.remove(podRef(), live);
    const evicted = async (): Promise<void> => {
      const { kube } = world();
      const { uid = '' } = (await kube.get(podRef(), live))?.metadata ?? {};
      await kube.evict({ ...podRef(), uid }, live);
    };

    it.each([
      { how: 'removed from its node', end: removed, spec: onNode, after: 'marked' },
      { how: 'evicted from its node', end: evicted, spec: onNode, after: 'marked' },
      { how: 'removed before it has a node', end: removed, spec: {}, after: 'gone' },
      { how: 'evicted before it has a node', end: evicted, spec: {}, after: 'gone' },
      {
        how: 'removed without grace',
        end: removed,
        after: 'gone',
        spec: { ...onNode, terminationGracePeriodSeconds: 0 },
      },
    ])('that is $how is $after', async ({ end, spec, after }) => {
      const { kube, put, drop } = world();
      await put(pods, podWith(spec));
      await end();
      const pod = await kube.get(podRef(), live);
      expect(pod === undefined ? 'gone' : 'marked').toBe(after);
      if (pod === undefined) return;
      expect(pod.metadata.deletionTimestamp).toMatch(/Z$/);
      await end();
      await drop(podRef());
      expect(await kube.get(podRef(), live)).toBeUndefined();
    });

    it('that has ended is deleted at once', async () => {
      const { kube, put } = world();
      await put(pods, podWith(onNode));
      const body = { status: { phase: 'Succeeded' } };
      await kube.patch(podRef(), { type: 'merge', body, subresource: 'status' }, live);
      await removed();
      expect(await kube.get(podRef(), live)).toBeUndefined();
    });
  });
}
