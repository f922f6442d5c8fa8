import { describe, expect, it } from 'vitest';
import type { HttpRoute } from '../../ports/http-route.ts';
import type { KubeObject } from '../../ports/kube.ts';
import {
  type AdmissionStores,
  bootstrapAdmissionRoutes,
  controlPlaneAdmissionRoutes,
} from './review.ts';

interface Answered {
  readonly allowed: boolean;
  readonly status?: { readonly code: number; readonly message: string };
  readonly warnings?: readonly string[];
}

async function post(routes: readonly HttpRoute[], path: string, body: unknown) {
  const route = routes.find((one) => one.path === path);
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const { answer } = route ?? routes[0]!;
  return answer({
    ...{ method: 'POST', path, params: {}, query: new URLSearchParams(), headers: {} },
    ...{ body: [bytes] as never, bytes: () => Promise.resolve(bytes) },
    signal: new AbortController().signal,
  });
}

async function review(
  path: string,
  { object, oldObject }: { readonly object: KubeObject; readonly oldObject?: KubeObject },
  stores: Partial<AdmissionStores> = {},
): Promise<Answered> {
  const routes = [
    ...bootstrapAdmissionRoutes(),
    ...controlPlaneAdmissionRoutes({
      ...{ manifestSecrets: () => [], controlPlanes: () => [], ...stores },
    }),
  ];
  const { body } = await post(routes, path, {
    ...{ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' },
    request: { uid: 'one', namespace: 'demo', object, oldObject: oldObject ?? null },
  });
  const { response } = JSON.parse(body as string) as { response: Answered & { uid: string } };
  const { uid, ...answered } = response;
  expect(uid).toBe('one');
  return answered;
}

const label = 'bootwright.io/install-manifests';
const manifest = (name: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`;
const secret = (
  name: string,
  text: string,
  labels: Record<string, string> = { [label]: 'demo' },
): KubeObject => ({
  metadata: { name, labels, annotations: { 'bootwright.io/manifest-folder': 'manifests' } },
  data: { [`${name}.yaml`]: Buffer.from(text).toString('base64') },
});
const path = '/validate/manifests';
const selecting = (status: object): KubeObject => ({
  metadata: { name: 'demo', labels: { 'cluster.x-k8s.io/cluster-name': 'demo' } },
  spec: {
    ...{ replicas: 3, manifestsSelector: { matchLabels: { [label]: 'demo' } } },
    installStateSecretRef: { name: 'state' },
  },
  status,
});

describe('R50: manifest Secrets at admission', () => {
  it('are taken when they are right', async () => {
    expect(await review(path, { object: secret('a', manifest('a')) })).toEqual({ allowed: true });
  });

  it('are refused with 422 and every problem', async () => {
    const object = secret('a', manifest('a').replace('v1', '!').replace('Config', 'config'));
    expect(await review(path, { object })).toEqual({
      allowed: false,
      status: {
        ...{ code: 422, reason: 'Invalid' },
        message:
          'data[a.yaml]:1:1: apiVersion is expected, as v1 or apps/v1; data[a.yaml]:2:1: kind is expected, one word as ConfigMap',
      },
    });
  });

  it('are compared with those of the same label value alone', async () => {
    const others = [
      secret('b', manifest('one')),
      secret('c', manifest('two'), { [label]: 'other' }),
    ];
    const stores = { manifestSecrets: () => others };
    const verify = (text: string) => review(path, { object: secret('a', text) }, stores);
    expect((await verify(manifest('one'))).status?.message).toContain(
      'also in data[b.yaml]:4 of the Secret b',
    );
    expect(await verify(manifest('two'))).toEqual({ allowed: true });
    const itself = { manifestSecrets: () => [secret('a', manifest('one'))] };
    expect(await review(path, { object: secret('a', manifest('one')) }, itself)).toEqual({
      allowed: true,
    });
  });

  it.each([
    ['breaks its content while its label goes', secret('a', 'a: [', {}), false],
    ['only loses its label', secret('a', manifest('a'), {}), true],
    ['keeps what counts', { ...secret('a', manifest('a')), type: 'Opaque' }, true],
  ])('an update that %s: allowed %s', async (_, object, allowed) => {
    const oldObject = secret('a', manifest('a'));
    expect((await review(path, { object, oldObject })).allowed).toBe(allowed);
  });

  it('an owner is added to what was wrong before, and what is being deleted is let go', async () => {
    const oldObject = secret('a', 'a: [');
    expect((await review(path, { object: { ...oldObject }, oldObject })).allowed).toBe(true);
    const metadata = { ...oldObject.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
    expect((await review(path, { object: { metadata, data: {} }, oldObject })).allowed).toBe(true);
  });

  it.each([
    ['is new', secret('a', manifest('a')), undefined, false],
    ['leaves', secret('a', manifest('a'), {}), secret('a', manifest('a')), false],
    ['changes', secret('a', manifest('b')), secret('a', manifest('a')), false],
    ['stays', secret('a', manifest('a')), secret('a', manifest('a')), true],
    ['is of another cluster', secret('a', manifest('a'), { [label]: 'other' }), undefined, true],
  ])(
    'once the files of the cluster are generated, one that %s: allowed %s',
    async (...[, object, oldObject, allowed]) => {
      const stores = { controlPlanes: () => [selecting({ assets: { secretName: 'x' } })] };
      const given = { object, ...(oldObject === undefined ? {} : { oldObject }) };
      expect((await review(path, given, stores)).allowed).toBe(allowed);
    },
  );

  it('answers many problems with some of them, and their number', async () => {
    const names = Array.from({ length: 40 }, (_, at) => `${at}.txt`);
    const data = Object.fromEntries(names.map((name) => [name, '']));
    const { status } = await review(path, { object: { ...secret('a', ''), data } });
    expect(status?.message).toMatch(/; and 20 more$/);
  });
});

describe('other objects at admission', () => {
  it('the state agrees with its control plane, until the files are generated', async () => {
    const config =
      'apiVersion: v1\nmetadata: {name: other}\nbaseDomain: a.b\nplatform: {none: {}}\npullSecret: \'{"auths":{}}\'\n';
    const object = {
      metadata: { name: 'state' },
      data: { 'install-config.yaml': Buffer.from(config).toString('base64') },
    };
    const verify = (status: object) =>
      review('/validate/installstate', { object }, { controlPlanes: () => [selecting(status)] });
    expect((await verify({})).status?.message).toBe(
      'data[install-config.yaml]:2:12: metadata.name is other, and the Cluster is called demo',
    );
    expect((await verify({ assets: {} })).status?.message).toContain('have been generated');
  });

  it('a control plane is warned of a MachineHealthCheck of its cluster', async () => {
    const check = (clusterName: string): KubeObject => ({
      ...{ metadata: { name: clusterName }, spec: { clusterName } },
    });
    const stores = { healthChecks: () => [check('demo'), check('other')] };
    const { warnings } = await review('/validate/controlplane', { object: selecting({}) }, stores);
    expect(warnings).toHaveLength(1);
    expect(warnings?.[0]).toContain('MachineHealthCheck demo');
  });

  it.each([
    ['of a cluster of ours is warned of', 'demo', 1],
    ['of another cluster is not', 'other', 0],
  ])('a MachineHealthCheck %s', async (_, clusterName, count) => {
    const object = { metadata: { name: 'a' }, spec: { clusterName } };
    const stores = { controlPlanes: () => [selecting({})] };
    const answer = await review('/validate/machinehealthcheck', { object }, stores);
    expect(answer.allowed).toBe(true);
    expect(answer.warnings ?? []).toHaveLength(count);
  });

  it('a config of a host is checked', async () => {
    const object = { metadata: { name: 'a' }, kind: 'OpenShiftBootstrapConfig', spec: {} };
    expect(await review('/validate/bootstrapconfig', { object })).toMatchObject({
      ...{ allowed: false, status: { code: 422 } },
    });
  });

  it.each([
    '',
    '[]',
    '{"kind":"AdmissionReview"}',
    '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"a"}}',
    '['.repeat(9000),
  ])('what is no review is 400: %j', async (body) => {
    const posted = post(bootstrapAdmissionRoutes(), '/validate/bootstrapconfig', body);
    await expect(posted).rejects.toMatchObject({ answer: { status: 400 } });
  });
});
