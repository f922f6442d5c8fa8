// The part about manifests of the suite for every Kube.
import { describe, expect, it } from 'vitest';
import { configMaps } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import type { KubeWorld } from './kube-world.ts';

const namespace = 'default';
const live = new AbortController().signal;

/** Runs the suite; `named` makes names that are unique to a test. */
export function applySuite(world: () => KubeWorld, named: (suffix: string) => string): void {
  const refOf = (suffix: string) => ({ kind: configMaps, namespace, name: named(suffix) });
  const manifest = (suffix: string, more: object = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: named(suffix), namespace },
    ...more,
  });

  describe('apply', () => {
    const apply = (object: unknown) => world().kube.apply(object as KubeObject, live);

    it('creates the object and changes nothing the second time', async () => {
      const made = await apply(manifest('a', { data: { k: 'v' } }));
      expect(made).toMatchObject({ metadata: { name: named('a'), namespace }, data: { k: 'v' } });
      expect(made.metadata).not.toHaveProperty('managedFields');
      const again = await apply(manifest('a', { data: { k: 'v' } }));
      expect(again.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
    });

    it('removes its own former fields and keeps those of others', async () => {
      await apply(manifest('a', { data: { change: '1', drop: '2' } }));
      const body = { data: { other: '3' } };
      await world().kube.patch(refOf('a'), { type: 'merge', body }, live);
      const changed = await apply(manifest('a', { data: { change: '4' } }));
      expect(changed['data']).toEqual({ change: '4', other: '3' });
    });

    const by = (manager: string, object: KubeObject, subresource?: string) =>
      world().kube.apply(object, live, {
        manager,
        ...(subresource === undefined ? {} : { subresource }),
      });
    const data = (members: Readonly<Record<string, string>>) => manifest('a', { data: members });

    it('keeps a field that another manager also owns', async () => {
      await by('one', data({ k: '1', shared: 'x' }));
      await by('two', data({ shared: 'x' }));
      expect((await by('one', data({ k: '1' })))['data']).toEqual({ k: '1', shared: 'x' });
      expect((await by('two', data({})))['data']).toEqual({ k: '1' });
    });

    it('takes over a field by force', async () => {
      await by('one', data({ k: '1', own: 'x' }));
      await by('two', data({ k: '2' }));
      expect((await by('two', data({})))['data']).toEqual({ own: 'x' });
    });

    it('writes the status through the subresource only, and merges conditions by type', async () => {
      const service = (more: object): KubeObject => ({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: named('a'), namespace },
        ...more,
      });
      const condition = (type: string) => ({
        type,
        status: 'True',
        reason: 'Test',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      });
      const status = (...types: readonly string[]) => ({
        status: { conditions: types.map(condition) },
      });
      const spec = { ports: [{ port: 80, protocol: 'TCP' }], clusterIP: 'None' };
      const typesOf = (object: KubeObject): readonly string[] => {
        const { conditions = [] } = (object['status'] ?? {}) as {
          readonly conditions?: readonly { readonly type: string }[];
        };
        return conditions.map(({ type }) => type).toSorted();
      };
      const made = await by('one', service({ spec, ...status('Lost') }));
      expect(typesOf(made)).toEqual([]);
      await by('one', service(status('A')), 'status');
      const both = await by(
        'two',
        service({ ...status('B'), spec: { type: 'NodePort' } }),
        'status',
      );
      expect(typesOf(both)).toEqual(['A', 'B']);
      expect(both['spec']).not.toMatchObject({ type: 'NodePort' });
      expect(typesOf(await by('one', service(status()), 'status'))).toEqual(['B']);
    });

    it('reads from discovery whether a kind is namespaced, and uses the default namespace', async () => {
      const { name } = refOf('a');
      await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
      expect(await world().kube.get(refOf('a'), live)).toMatchObject({ metadata: { namespace } });
      const role = {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name, namespace },
        rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
      };
      const made = await apply(role);
      expect(made).toMatchObject({ rules: role.rules });
      expect(made.metadata).not.toHaveProperty('namespace');
    });

    it('rejects a kind that is not served', async () => {
      const metadata = { name: named('a') };
      for (const apiVersion of ['nobody.example/v1', 'v1', 'v2', 'apps/v1', 'a/b/c']) {
        await expect(apply({ apiVersion, kind: 'Widget', metadata })).rejects.toMatchObject({
          code: 'kube.not-found',
        });
      }
    });

    it.each([
      [{ kind: 'ConfigMap', metadata: { name: 'a' } }],
      [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '' } }],
      [{ apiVersion: 'v1', kind: 'ConfigMap' }],
    ])('refuses %o', async (object) => {
      await expect(apply(object)).rejects.toMatchObject({ code: 'kube.invalid' });
    });
  });
}
