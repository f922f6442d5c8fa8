// The part of the suite of every Kube that is about manifests, and about many objects at once.
import { describe, expect, it } from 'vitest';
import { configMaps, secrets } from '../../src/kube/kinds.ts';
import type { ApplyOptions, Kube, KubeKind, KubeObject } from '../../src/ports/kube.ts';

/** What the suite needs of a Kube's world. */
interface ApplyWorld {
  readonly kube: Kube;
  /** Puts an object there past the port. */
  readonly put: (kind: KubeKind, object: KubeObject) => Promise<void>;
}

const namespace = 'default';
const live = new AbortController().signal;

/** Runs the suite; `named` makes names that no other test has. */
export function applySuite(world: () => ApplyWorld, named: (suffix: string) => string): void {
  const refOf = (suffix: string) => ({ kind: configMaps, namespace, name: named(suffix) });
  const manifest = (suffix: string, more: object = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: named(suffix), namespace },
    ...more,
  });

  describe('apply', () => {
    const apply = (object: unknown) => world().kube.apply(object as KubeObject, live);

    it('makes what its manifest says, and changes nothing the second time', async () => {
      const made = await apply(manifest('a', { data: { k: 'v' } }));
      expect(made).toMatchObject({ metadata: { name: named('a'), namespace }, data: { k: 'v' } });
      expect(made.metadata).not.toHaveProperty('managedFields');
      const again = await apply(manifest('a', { data: { k: 'v' } }));
      expect(again.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
    });

    it('takes away what it has said before, and leaves what others said', async () => {
      await apply(manifest('a', { data: { change: '1', drop: '2' } }));
      const body = { data: { other: '3' } };
      await world().kube.patch(refOf('a'), { type: 'merge', body }, live);
      const changed = await apply(manifest('a', { data: { change: '4' } }));
      expect(changed['data']).toEqual({ change: '4', other: '3' });
    });

    it('wins where another says something else', async () => {
      await world().put(configMaps, manifest('a', { data: { k: 'theirs', keep: '1' } }));
      const changed = await apply(manifest('a', { data: { k: 'ours' } }));
      expect(changed['data']).toEqual({ k: 'ours', keep: '1' });
    });

    const by = (manager: string, object: KubeObject, more: ApplyOptions = {}) =>
      world().kube.apply(object, live, { manager, ...more });
    const data = (members: Readonly<Record<string, string>>) => manifest('a', { data: members });

    it('stops without force where another says something else, and names what and whom', async () => {
      await by('one', data({ k: '1', l: '1', same: 'x' }));
      const refused = by('two', data({ k: '2', same: 'x', own: '3' }), { force: false });
      await expect(refused).rejects.toMatchObject({
        code: 'kube.conflict',
        message: expect.stringMatching(
          /1 conflict: conflict with "one"\S*( using v1)?: \.data\.k$/,
        ) as string,
      });
      const several = by('two', data({ k: '2', l: '2' }), { force: false });
      await expect(several).rejects.toMatchObject({
        message: expect.stringMatching(
          /2 conflicts: conflicts with "one".*:\n- \.data\.k\n- \.data\.l$/,
        ) as string,
      });
      const there = await world().kube.get(refOf('a'), live);
      expect(there?.['data']).toEqual({ k: '1', l: '1', same: 'x' });
    });

    it('stops without force at what was changed past it, and changes what is its own', async () => {
      await by('one', data({ k: '1', l: '1' }));
      const changed = await by('one', data({ k: '2', l: '1' }), { force: false });
      expect(changed['data']).toEqual({ k: '2', l: '1' });
      await world().kube.patch(refOf('a'), { type: 'merge', body: { data: { k: '9' } } }, live);
      const refused = by('one', data({ k: '2', l: '1' }), { force: false });
      await expect(refused).rejects.toMatchObject({
        code: 'kube.conflict',
        message: expect.stringContaining('.data.k') as string,
      });
      const forced = await by('one', data({ k: '2', l: '1' }));
      expect(forced['data']).toEqual({ k: '2', l: '1' });
    });

    it('leaves a member that another manager says too', async () => {
      await by('one', data({ k: '1', shared: 'x' }));
      await by('two', data({ shared: 'x' }), { force: false });
      expect((await by('one', data({ k: '1' })))['data']).toEqual({ k: '1', shared: 'x' });
      expect((await by('two', data({})))['data']).toEqual({ k: '1' });
    });

    it('takes a member over by force: who said it before no longer keeps it', async () => {
      await by('one', data({ k: '1', own: 'x' }));
      await by('two', data({ k: '2' }));
      expect((await by('two', data({})))['data']).toEqual({ own: 'x' });
    });

    it('brings the status by its subresource alone, and conditions by their type', async () => {
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
      const part = { subresource: 'status', force: false };
      await by('one', service(status('A')), part);
      const both = await by('two', service({ ...status('B'), spec: { type: 'NodePort' } }), part);
      expect(typesOf(both)).toEqual(['A', 'B']);
      expect(both['spec']).not.toMatchObject({ type: 'NodePort' });
      expect(typesOf(await by('one', service(status()), part))).toEqual(['B']);
    });

    it('knows from the server what has a namespace, and goes to the default one', async () => {
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

    it('needs a kind that is served', async () => {
      const metadata = { name: named('a') };
      for (const apiVersion of ['nobody.example/v1', 'v1', 'v2', 'apps/v1', 'a/b/c']) {
        await expect(apply({ apiVersion, kind: 'Widget', metadata })).rejects.toMatchObject({
          code: 'kube.not-found',
        });
      }
    });

    it.each([
      [{ kind: 'ConfigMap', metadata: { name: 'a' } }],
      [{ apiVersion: 'v1', metadata: { name: 'a' } }],
      [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: {} }],
      [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '' } }],
      [{ apiVersion: 'v1', kind: 'ConfigMap' }],
    ])('refuses %o', async (object) => {
      await expect(apply(object)).rejects.toMatchObject({ code: 'kube.invalid' });
    });

    it('rejects with the reason of who aborts', async () => {
      const reason = new Error('enough');
      const applied = world().kube.apply(manifest('a'), AbortSignal.abort(reason));
      await expect(applied).rejects.toBe(reason);
    });
  });

  describe('removeAll', () => {
    it('takes away what a label selects, and nothing else', async () => {
      const labelled = (suffix: string, label: string): KubeObject => ({
        ...manifest(suffix),
        metadata: { ...manifest(suffix).metadata, labels: { of: label } },
      });
      await world().put(configMaps, labelled('a', named('x')));
      await world().put(configMaps, labelled('b', named('x')));
      await world().put(configMaps, labelled('c', named('y')));
      const { kube } = world();
      await kube.removeAll(
        { kind: configMaps, namespace, labelSelector: `of=${named('x')}` },
        live,
      );
      const left = await Promise.all(['a', 'b', 'c'].map((one) => kube.get(refOf(one), live)));
      expect(left.map((one) => one?.metadata.name)).toEqual([undefined, undefined, named('c')]);
    });

    it('does not mind when there is none, nor such a kind', async () => {
      const { kube } = world();
      const labelSelector = `of=${named('x')}`;
      await kube.removeAll({ kind: secrets, namespace, labelSelector }, live);
      const widgets = { group: 'nobody.example', version: 'v1', plural: 'widgets' };
      await kube.removeAll({ kind: widgets }, live);
    });

    it('keeps to its namespace', async () => {
      const labels = { of: named('x') };
      await world().put(
        configMaps,
        manifest('a', { metadata: { ...manifest('a').metadata, labels } }),
      );
      const there = {
        kind: configMaps,
        namespace: 'kube-system',
        labelSelector: `of=${named('x')}`,
      };
      await world().kube.removeAll(there, live);
      expect(await world().kube.get(refOf('a'), live)).toBeDefined();
    });
  });
}
