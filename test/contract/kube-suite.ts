// One suite for every Kube: the fake, and the adapter with a real API server.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { configMaps, nodes } from '../../src/kube/kinds.ts';
import { applySuite } from './kube-apply-suite.ts';
import { endingSuite } from './kube-ending-suite.ts';
import type { KubeKind, KubeObject, KubeRef, KubeView } from '../../src/ports/kube.ts';
import type { KubeWorld } from './kube-world.ts';

const namespace = 'default';
const widgets: KubeKind = { group: 'nobody.example', version: 'v1', plural: 'widgets' };
const live = new AbortController().signal;
/** Longer than any restart of a server. */
const restarts = { timeout: 600_000, interval: 5 };

/** Runs the suite. Each test has its own names, so that one cluster serves all tests. */
export function kubeSuite(name: string, world: () => KubeWorld): void {
  describe(name, () => {
    let prefix: string;
    let count = 0;
    beforeEach(() => {
      count += 1;
      prefix = `t${count}-${Math.random().toString(36).slice(2, 8)}`;
    });

    const named = (suffix: string): string => `${prefix}-${suffix}`;
    const refOf = (suffix: string): KubeRef => ({
      kind: configMaps,
      namespace,
      name: named(suffix),
    });
    const map = (suffix: string, data: Record<string, string>, label = prefix): KubeObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: named(suffix), namespace, labels: { suite: label } },
      data,
    });
    const put = (...given: Parameters<typeof map>): Promise<void> =>
      world().put(configMaps, map(...given));
    const mine = (): { kind: KubeKind; namespace: string; labelSelector: string } => ({
      kind: configMaps,
      namespace,
      labelSelector: `suite=${prefix}`,
    });
    const shortNames = (objects: readonly KubeObject[]): readonly string[] =>
      objects.map(({ metadata }) => metadata.name.slice(prefix.length + 1));

    describe('get', () => {
      it('returns the object without managedFields', async () => {
        await put('a', { k: 'v' });
        const object = await world().kube.get(refOf('a'), live);
        expect(object).toMatchObject({ ...map('a', { k: 'v' }) });
        expect(object?.metadata.resourceVersion).toMatch(/^\d+$/);
        expect(object?.metadata.uid).toBeTruthy();
        expect(object?.metadata).not.toHaveProperty('managedFields');
      });

      it('returns undefined for a missing object or kind', async () => {
        expect(await world().kube.get(refOf('none'), live)).toBeUndefined();
        expect(await world().kube.get({ kind: widgets, name: 'x' }, live)).toBeUndefined();
      });

      it('rejects with the abort reason', async () => {
        const reason = new Error('enough');
        await expect(world().kube.get(refOf('a'), AbortSignal.abort(reason))).rejects.toBe(reason);
      });
    });

    describe('list', () => {
      it('returns the objects of a label selector, ordered by name', async () => {
        await put('b', {});
        await put('a', {});
        await put('c', {}, 'other');
        expect(shortNames(await world().kube.list(mine(), live))).toEqual(['a', 'b']);
        const anywhere = { kind: configMaps, labelSelector: `suite=${prefix}` };
        expect(shortNames(await world().kube.list(anywhere, live))).toEqual(['a', 'b']);
        expect(await world().kube.list({ ...mine(), namespace: 'kube-system' }, live)).toEqual([]);
      });

      it('returns the object of a field selector', async () => {
        await put('a', {});
        await put('b', {});
        const fieldSelector = `metadata.name=${named('b')}`;
        const found = await world().kube.list({ ...mine(), fieldSelector }, live);
        expect(shortNames(found)).toEqual(['b']);
      });

      it('returns nothing for a kind that is not served', async () => {
        expect(await world().kube.list({ kind: widgets }, live)).toEqual([]);
      });
    });

    it('returns metadata only for a metadata-only kind, even after a change', async () => {
      const kind: KubeKind = { ...configMaps, isMetadataOnly: true };
      await put('a', { k: 'v' });
      const bare = { labels: { suite: prefix }, name: named('a'), namespace };
      const found = await world().kube.get({ ...refOf('a'), kind }, live);
      const [listed] = await world().kube.list({ ...mine(), kind }, live);
      const stop = new AbortController();
      const views: KubeView[] = [];
      const following = world().kube.follow(
        { ...mine(), kind },
        (v) => void views.push({ ...v }),
        stop.signal,
      );
      const seen = (): KubeObject | undefined => views.at(-1)?.objects[0];
      await vi.waitFor(() => expect(seen()).toBeDefined(), restarts);
      const first = seen();
      await put('a', { k: 'w' });
      const versionOf = (object: KubeObject | undefined) => object?.metadata.resourceVersion;
      const isNewer = () => expect(versionOf(seen())).not.toBe(versionOf(first));
      await vi.waitFor(isNewer, restarts);
      stop.abort(new Error('the test is over'));
      await following;
      for (const object of [found, listed, first, seen()]) {
        expect(object?.metadata).toMatchObject(bare);
        expect(object?.metadata).not.toHaveProperty('managedFields');
        expect(object).not.toHaveProperty('data');
      }
    });

    describe('create', () => {
      const into = { kind: configMaps, namespace };

      it('creates an object in the given namespace', async () => {
        const object = { ...map('a', { k: 'v' }), metadata: { name: named('a') } };
        const made = await world().kube.create(into, object, live);
        expect(made.metadata).toMatchObject({ name: named('a'), namespace });
        expect(made.metadata.uid).toBeTruthy();
        expect(await world().kube.get(refOf('a'), live)).toMatchObject({ data: { k: 'v' } });
      });

      it('rejects an existing name with a conflict', async () => {
        await put('a', {});
        await expect(world().kube.create(into, map('a', {}), live)).rejects.toMatchObject({
          code: 'kube.conflict',
        });
      });
    });

    describe('patch', () => {
      it('merges, and removes fields with null', async () => {
        await put('a', { keep: '1', change: '2', drop: '3' });
        const body = { data: { change: 'x', drop: null } };
        const changed = await world().kube.patch(refOf('a'), { type: 'merge', body }, live);
        expect(changed['data']).toEqual({ keep: '1', change: 'x' });
        const object = await world().kube.get(refOf('a'), live);
        expect(object?.metadata.resourceVersion).toBe(changed.metadata.resourceVersion);
      });

      it('applies a JSON patch with a test', async () => {
        await put('a', { x: '1', y: '2' });
        const body = [
          { op: 'test', path: '/data/x', value: '1' },
          { op: 'remove', path: '/data/y' },
          { op: 'add', path: '/metadata/labels/a~1b', value: 'c' },
        ];
        const changed = await world().kube.patch(refOf('a'), { type: 'json', body }, live);
        expect(changed['data']).toEqual({ x: '1' });
        expect(changed.metadata.labels).toMatchObject({ 'a/b': 'c' });
        await expect(
          world().kube.patch(
            refOf('a'),
            { type: 'json', body: [{ op: 'test', path: '/data/x', value: '2' }] },
            live,
          ),
        ).rejects.toMatchObject({ code: 'kube.invalid' });
      });

      it('does not mix an object and its status', async () => {
        const node = { kind: nodes, name: named('node') };
        await world().put(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: node.name } });
        const conditions = [{ type: 'Ready', status: 'True' }];
        const body = { spec: { unschedulable: true }, status: { conditions } };
        const patch = { type: 'merge', body } as const;
        const cordoned = await world().kube.patch(node, patch, live);
        expect(cordoned).toMatchObject({ spec: { unschedulable: true } });
        expect(cordoned).not.toMatchObject({ status: { conditions } });
        const back = { spec: { unschedulable: null }, status: { conditions } };
        const status = { type: 'merge', body: back, subresource: 'status' } as const;
        const seen = await world().kube.patch(node, status, live);
        expect(seen).toMatchObject({ spec: { unschedulable: true }, status: { conditions } });
        await world().drop(node);
      });

      it.each([
        [{ uid: '00000000-0000-4000-8000-000000000000' }, 'kube.invalid'],
        [{ resourceVersion: '1' }, 'kube.conflict'],
        [{ uid: '00000000-0000-4000-8000-000000000000', resourceVersion: '1' }, 'kube.conflict'],
      ])('rejects a patch for another object: %j', async (metadata, code) => {
        await put('a', { k: 'v' });
        const body = { metadata, data: { k: 'w' } };
        const patched = world().kube.patch(refOf('a'), { type: 'merge', body }, live);
        await expect(patched).rejects.toMatchObject({ code });
      });

      it('keeps the resource version when nothing changes', async () => {
        await put('a', { k: 'v' });
        const before = await world().kube.get(refOf('a'), live);
        const body = { data: { k: 'v' } };
        const after = await world().kube.patch(refOf('a'), { type: 'merge', body }, live);
        expect(after.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
      });

      it('rejects a missing object', async () => {
        const patched = world().kube.patch(refOf('none'), { type: 'merge', body: {} }, live);
        await expect(patched).rejects.toMatchObject({ code: 'kube.not-found' });
      });
    });

    describe('replace', () => {
      it('replaces the whole object, once per resource version', async () => {
        await put('a', { x: '1', y: '2' });
        const before = await world().kube.get(refOf('a'), live);
        const next = { ...before, metadata: { ...before!.metadata }, data: { x: '3' } };
        const put_ = (): Promise<KubeObject> =>
          world().kube.replace(refOf('a'), next, { signal: live });
        expect((await put_())['data']).toEqual({ x: '3' });
        await expect(put_()).rejects.toMatchObject({ code: 'kube.conflict' });
      });

      it('rejects a missing object', async () => {
        const replaced = world().kube.replace(refOf('none'), map('none', {}), { signal: live });
        await expect(replaced).rejects.toMatchObject({ code: 'kube.not-found' });
      });
    });

    describe('remove', () => {
      it('removes an object, and accepts a missing one', async () => {
        await put('a', {});
        await world().kube.remove(refOf('a'), live);
        expect(await world().kube.get(refOf('a'), live)).toBeUndefined();
        await world().kube.remove(refOf('a'), live);
      });
    });

    applySuite(world, named);
    endingSuite(world, named);

    describe('the log of a pod', () => {
      it('rejects a missing pod', async () => {
        for (const since of [3600, undefined]) {
          const log = world().kube.podLog({ namespace, name: named('none') }, since, live);
          await expect(log).rejects.toMatchObject({ code: 'kube.not-found' });
        }
      });
    });

    describe('follow', () => {
      let views: KubeView[];
      let stop: AbortController;
      let ended: Promise<void> | undefined;
      beforeEach(() => {
        views = [];
        stop = new AbortController();
        ended = undefined;
      });
      afterEach(async () => {
        stop.abort(new Error('the test is over'));
        await ended;
      });
      const follow = (): void => {
        ended = world().kube.follow(mine(), (view) => void views.push({ ...view }), stop.signal);
      };
      const seen = (expected: object): Promise<void> =>
        vi.waitFor(() => {
          const view = views.at(-1);
          expect(view).toBeDefined();
          expect({
            isSynced: view?.isSynced,
            names: shortNames(view?.objects ?? []),
            lastError: view?.lastError === undefined ? 'none' : 'some',
          }).toMatchObject(expected);
        }, restarts);

      it('shows existing, added, changed and deleted objects', async () => {
        await put('b', {});
        await put('x', {}, 'other');
        follow();
        await seen({ isSynced: true, names: ['b'], lastError: 'none' });
        await put('a', {});
        await seen({ names: ['a', 'b'] });
        const before = views.at(-1)?.objects[1]?.metadata.resourceVersion;
        await world().kube.patch(refOf('b'), { type: 'merge', body: { data: { k: 'v' } } }, live);
        await vi.waitFor(
          () => expect(views.at(-1)?.objects[1]).toMatchObject({ data: { k: 'v' } }),
          restarts,
        );
        expect(views.at(-1)?.objects[1]?.metadata.resourceVersion).not.toBe(before);
        await world().drop(refOf('a'));
        await seen({ names: ['b'] });
        expect(views[0]?.objects).toHaveLength(1);
      });

      it('shows an empty selection, and an object that leaves it', async () => {
        follow();
        await seen({ isSynced: true, names: [] });
        await put('a', {});
        await seen({ names: ['a'] });
        const body = { metadata: { labels: { suite: 'other' } } };
        await world().kube.patch(refOf('a'), { type: 'merge', body }, live);
        await seen({ names: [] });
      });

      it('emits no view without a change', async () => {
        await put('a', {});
        follow();
        await seen({ names: ['a'] });
        const reported = views.length;
        await put('x', {}, 'other');
        await put('b', {});
        await seen({ names: ['a', 'b'] });
        expect(views).toHaveLength(reported + 1);
      });

      it('shows an error with the last known objects, and its end', async () => {
        await put('a', {});
        follow();
        await seen({ names: ['a'], lastError: 'none' });
        await world().away();
        await seen({ names: ['a'], lastError: 'some' });
        await world().back();
        await seen({ names: ['a'], lastError: 'none' });
        await put('b', {});
        await seen({ names: ['a', 'b'], lastError: 'none' });
      });

      it('replaces its objects after lost history without an empty view', async () => {
        await put('a', { k: '1' });
        await put('b', {});
        follow();
        await seen({ names: ['a', 'b'] });
        const [before] = views.at(-1)?.objects ?? [];
        await world().unseen(async () => {
          await world().drop(refOf('a'));
          await world().drop(refOf('b'));
          await put('a', { k: '2' });
        });
        await seen({ names: ['a'], lastError: 'none' });
        const [after] = views.at(-1)?.objects ?? [];
        expect(after).toMatchObject({ data: { k: '2' } });
        expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
        expect(views.some(({ objects }) => objects.length === 0)).toBe(false);
      });

      it('resolves when it is stopped', async () => {
        follow();
        await seen({ isSynced: true });
        stop.abort(new Error('enough'));
        await expect(ended).resolves.toBeUndefined();
        const reported = views.length;
        await put('a', {});
        expect(views).toHaveLength(reported);
      });
    });
  });
}
