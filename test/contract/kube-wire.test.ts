// Requests to the API server on the wire, and the handling of its answers.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { calmTimeouts } from '../../src/adapters/kube/api-server.ts';
import { userAgent } from '../../src/model/version.ts';
import type { Proxies } from '../../src/lib/proxies.ts';
import type { KubeKind } from '../../src/ports/kube.ts';
import { quickClock } from '../support/quick-clock.ts';
import {
  inTurn,
  json,
  makeCertificates,
  type Responder,
  startServer,
  type TestServer,
  tunnelling,
} from './real/http-server.ts';
import { kubeconfigFor, kubeStand, node, status } from './real/kube-stand.ts';

const nodes: KubeKind = { group: '', version: 'v1', plural: 'nodes' };
const m0 = { kind: nodes, name: 'm0' };
const { signal } = new AbortController();

const stand = kubeStand();
const { asked, cluster } = stand;
let server: TestServer;
beforeEach(() => {
  ({ server } = stand);
});

const lost: Responder = (_, response) => void response.destroy();

describe('requests', () => {
  it('carry credentials, the user agent and a content type', async () => {
    server.answering(json(200, node(1)));
    await cluster().get(m0, signal);
    await cluster().patch(m0, { type: 'merge', body: { a: null }, subresource: 'status' }, signal);
    expect(asked()).toEqual(['GET /api/v1/nodes/m0', 'PATCH /api/v1/nodes/m0/status']);
    expect(server.seen.map(({ body }) => body)).toEqual(['', '{"a":null}']);
    const types = server.seen.map(({ headers }) => headers['content-type']);
    expect(types).toEqual([undefined, 'application/merge-patch+json']);
    for (const { headers } of server.seen) {
      expect(headers.authorization).toBe('Bearer secret');
      expect(headers['user-agent']).toBe(userAgent);
    }
  });

  /** A server with a certificate, and the part of a kubeconfig that trusts it. */
  const secureServer = async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bootwright-kube-'));
    const certificates = makeCertificates(folder);
    rmSync(folder, { recursive: true });
    const tls = await startServer(json(200, node(1)), certificates);
    onTestFinished(tls.close);
    const ca = Buffer.from(certificates.ca).toString('base64');
    return { tls, trusted: { 'certificate-authority-data': ca } };
  };

  it('verify the certificate of the server', async () => {
    const { tls } = await secureServer();
    const stranger = cluster({
      credentials: () => Promise.resolve(kubeconfigFor(tls.url)),
      clock: quickClock(2000),
    });
    await expect(stranger.get(m0, signal)).rejects.toMatchObject({ code: 'kube.untrusted' });
  });

  it.each<[string, (url: string) => [proxies: Proxies | undefined, cluster: object]]>([
    ['from the settings', (url) => [{ http: '', https: url, no: '' }, {}]],
    ['from the kubeconfig', (url) => [undefined, { 'proxy-url': url }]],
    [
      'from the kubeconfig before that from the settings',
      (url) => [{ http: '', https: 'http://127.0.0.1:1', no: '*' }, { 'proxy-url': url }],
    ],
  ])('use a proxy %s', async (_, given) => {
    const { tls, trusted } = await secureServer();
    const tunnels = tunnelling(server, tls.port);
    const [proxies, own] = given(server.url);
    const kubeconfig = kubeconfigFor('https://service.test:6443', {
      cluster: { ...trusted, ...own },
    });
    const kube = cluster({
      credentials: () => Promise.resolve(kubeconfig),
      ...(proxies === undefined ? {} : { proxies }),
    });
    expect(await kube.get(m0, signal)).toMatchObject({ metadata: { name: 'm0' } });
    expect(tunnels).toEqual(['service.test:6443']);
  });

  it('list again from the first page when the history of a list is lost', async () => {
    const page = (name: string, next?: string): Responder =>
      json(200, { metadata: { continue: next }, items: [{ metadata: { name } }] });
    server.answering(inTurn(page('old', 'next'), status(410), page('new')));
    expect(await cluster().list({ kind: nodes }, signal)).toEqual([{ metadata: { name: 'new' } }]);
    expect(asked().map((one) => one.includes('continue'))).toEqual([false, true, false]);
  });
});

describe('a create whose response was lost', () => {
  const object = { metadata: { name: 'm0' }, spec: { a: 1 } };

  it.each([[[lost]], [[lost, status(429)]]])(
    'succeeds when the existing object has its content',
    async (before) => {
      server.answering(
        inTurn(...before, status(409), json(200, node(4, { spec: { a: 1, b: 2 } }))),
      );
      const made = await cluster().create({ kind: nodes }, object, signal);
      expect(made.metadata.resourceVersion).toBe('4');
      expect(asked().at(-1)).toBe('GET /api/v1/nodes/m0');
    },
  );

  it.each([
    ['the existing object differs', [lost], 2],
    ['the object existed before', [], 1],
  ])('is a conflict when %s', async (_, before, a) => {
    server.answering(inTurn(...before, status(409), json(200, node(4, { spec: { a } }))));
    await expect(cluster().create({ kind: nodes }, object, signal)).rejects.toMatchObject({
      code: 'kube.conflict',
    });
  });
});

describe('credentials', () => {
  it('are not used after close', async () => {
    server.answering(json(200, node(1)));
    const kube = cluster();
    await kube.get(m0, signal);
    await kube.close();
    await expect(kube.get(m0, signal)).rejects.toThrow('closed');
    expect(asked()).toHaveLength(1);
  });

  it('that are refused are read again', async () => {
    server.answering((seen, response) =>
      (seen.headers.authorization === 'Bearer new' ? json(200, node(1)) : status(401))(
        seen,
        response,
      ),
    );
    const texts = [
      kubeconfigFor(server.url),
      kubeconfigFor(server.url, { user: { token: 'new' } }),
    ];
    // Even where a 403 is final.
    const credentials = () => Promise.resolve(texts.shift());
    const kube = cluster({ credentials, denials: 'final' });
    expect(await kube.get(m0, signal)).toBeDefined();
    expect(asked()).toHaveLength(2);
  });

  it('that TLS cannot use fail at once', async () => {
    const user = { 'client-certificate-data': 'eA==', 'client-key-data': 'eA==' };
    const text = kubeconfigFor('https://127.0.0.1:1', { user });
    const kube = cluster({ credentials: () => Promise.resolve(text) });
    await expect(kube.get(m0, signal)).rejects.toMatchObject({ code: 'kube.bad-credentials' });
  });
});

describe('applying a manifest', () => {
  const subscription = {
    apiVersion: 'operators.coreos.com/v1alpha1',
    kind: 'Subscription',
    metadata: { name: 's', namespace: 'n' },
  };
  /** The answer of kube-apiserver 1.34, reduced to the fields that are read. */
  const kinds = json(200, {
    kind: 'APIResourceList',
    groupVersion: 'operators.coreos.com/v1alpha1',
    resources: [
      { name: 'subscriptions', kind: 'Subscription', namespaced: true, verbs: ['patch'] },
      { name: 'subscriptions/status', kind: 'Subscription', namespaced: true, verbs: ['get'] },
    ],
  });
  const discovery = 'GET /apis/operators.coreos.com/v1alpha1';
  const path =
    'PATCH /apis/operators.coreos.com/v1alpha1/namespaces/n/subscriptions/s?fieldManager=bootwright&force=true';
  const made: Responder = json(200, subscription);

  it('requests the discovery of its group once, and retries it and the patch on 503', async () => {
    server.answering(inTurn(status(503), kinds, status(503), made));
    const kube = cluster();
    await kube.apply(subscription, signal);
    const levels = stand.notes.map((note) => (note as { level?: string }).level);
    expect(levels).toEqual(['warn', 'info']);
    await kube.apply(subscription, signal);
    expect(asked()).toEqual([discovery, discovery, path, path, path]);
    expect(server.seen[2]).toMatchObject({ body: JSON.stringify(subscription) });
    expect(server.seen[2]?.headers['content-type']).toBe('application/apply-patch+yaml');
  });

  it('requests the discovery again for a kind that was not served', async () => {
    server.answering(inTurn(json(404, {}), json(200, { resources: [] }), kinds, made));
    const kube = cluster();
    for (const _ of [1, 2]) {
      await expect(kube.apply(subscription, signal)).rejects.toMatchObject({
        code: 'kube.not-found',
      });
    }
    await kube.apply(subscription, signal);
    expect(asked()).toEqual([discovery, discovery, discovery, path]);
  });
});

describe('the connections of a cluster whose credentials are replaced', () => {
  it('end when the cluster is closed, also that of a watch with older credentials', async () => {
    server.answering((seen, response) => {
      if (seen.path.includes('watch=true')) {
        response.writeHead(200).flushHeaders();
        return;
      }
      const list = { metadata: { resourceVersion: '1' }, items: [] };
      if (!seen.path.includes('/m0')) return json(200, list)(seen, response);
      const isNew = seen.headers.authorization === 'Bearer new';
      return (isNew ? json(200, node(1)) : status(401))(seen, response);
    });
    const texts = [
      kubeconfigFor(server.url),
      kubeconfigFor(server.url, { user: { token: 'new' } }),
    ];
    // A watch and its connection last longer than the test.
    const patient = { clock: quickClock(1), timeouts: calmTimeouts };
    const credentials = () => Promise.resolve(texts.shift());
    const kube = cluster({ credentials, ...patient });
    const ended = kube.follow({ kind: nodes }, () => undefined, signal).catch(() => undefined);
    const often = { interval: 2 };
    await expect.poll(() => asked().at(-1), often).toContain('watch=true');
    expect(await kube.get({ kind: nodes, name: 'm0' }, signal)).toBeDefined();
    await kube.close();
    const open = promisify(server.server.getConnections.bind(server.server));
    await expect.poll(() => open(), { interval: 2 }).toBe(0);
    await ended;
  });
});
