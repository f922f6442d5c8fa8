// Requests to the API server on the wire, and the handling of its answers.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
} from './real/http-server.ts';
import { kubeconfigFor, type KubeStand, node, openStand, status } from './real/kube-stand.ts';

const nodes: KubeKind = { group: '', version: 'v1', plural: 'nodes' };
const m0 = { kind: nodes, name: 'm0' };
const { signal } = new AbortController();

let stand: KubeStand;
let server: TestServer;
beforeEach(async () => {
  stand = await openStand();
  ({ server } = stand);
});
afterEach(() => stand.close());

const lost: Responder = (_, response) => void response.destroy();
const cluster: KubeStand['cluster'] = (more) => stand.cluster(more);
const asked = (): readonly string[] => stand.asked();

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

  it('verify the certificate of the server', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bootwright-kube-'));
    const certificates = makeCertificates(folder);
    rmSync(folder, { recursive: true });
    const tls = await startServer(json(200, node(1)), certificates);
    try {
      const data = Buffer.from(certificates.ca).toString('base64');
      const trusted = kubeconfigFor(tls.url, { cluster: { 'certificate-authority-data': data } });
      const kube = cluster({ credentials: () => Promise.resolve(trusted) });
      expect(await kube.get(m0, signal)).toMatchObject({ metadata: { name: 'm0' } });
      const stranger = cluster({
        credentials: () => Promise.resolve(kubeconfigFor(tls.url)),
        clock: quickClock(2000),
      });
      await expect(stranger.get(m0, signal)).rejects.toMatchObject({ code: 'kube.untrusted' });
    } finally {
      await tls.close();
    }
  });

  it.each<[string, (url: string) => [proxies: Proxies | undefined, cluster: object]]>([
    ['from the settings', (url) => [{ http: '', https: url, no: '' }, {}]],
    ['from the kubeconfig', (url) => [undefined, { 'proxy-url': url }]],
    [
      'from the kubeconfig before that from the settings',
      (url) => [{ http: '', https: 'http://127.0.0.1:1', no: '*' }, { 'proxy-url': url }],
    ],
  ])('use a proxy %s', async (_, given) => {
    const folder = mkdtempSync(join(tmpdir(), 'bootwright-kube-'));
    const certificates = makeCertificates(folder);
    rmSync(folder, { recursive: true });
    const tls = await startServer(json(200, node(1)), certificates);
    const tunnels: string[] = [];
    server.server.on('connect', (request, socket) => {
      tunnels.push(request.url ?? '');
      const onward = connect(tls.port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        socket.pipe(onward).pipe(socket);
      });
      for (const one of [onward, socket]) one.on('error', () => undefined);
    });
    const data = Buffer.from(certificates.ca).toString('base64');
    const [proxies, own] = given(server.url);
    const kubeconfig = kubeconfigFor('https://service.test:6443', {
      cluster: { 'certificate-authority-data': data, ...own },
    });
    const kube = cluster({
      credentials: () => Promise.resolve(kubeconfig),
      ...(proxies === undefined ? {} : { proxies }),
    });
    expect(await kube.get(m0, signal)).toMatchObject({ metadata: { name: 'm0' } });
    expect(tunnels).toEqual(['service.test:6443']);
    await tls.close();
  });

  const page = (name: string, next?: string): Responder =>
    json(200, {
      metadata: { resourceVersion: '5', continue: next },
      items: [{ metadata: { name, managedFields: [{}] } }],
    });

  it('list in pages', async () => {
    server.answering(inTurn(page('b', 'token+1'), page('a')));
    expect(await cluster().list({ kind: nodes }, signal)).toEqual([
      { metadata: { name: 'a' } },
      { metadata: { name: 'b' } },
    ]);
    expect(asked()[1]).toBe('GET /api/v1/nodes?limit=50&continue=token%2B1');
  });

  it('list again from the first page when the history of a list is lost', async () => {
    server.answering(inTurn(page('old', 'next'), status(410), page('new')));
    expect(await cluster().list({ kind: nodes }, signal)).toEqual([{ metadata: { name: 'new' } }]);
    expect(asked().map((one) => one.includes('continue'))).toEqual([false, true, false]);
  });
});

describe('a temporary error', () => {
  it.each<[string, Responder]>([
    ['lost history', status(410)],
    ['a temporary 401', status(401)],
  ])('is retried: %s', async (_, bad) => {
    server.answering(inTurn(bad, bad, json(200, node(1))));
    expect(await cluster().get(m0, signal)).toMatchObject({ metadata: { name: 'm0' } });
    expect(asked()).toHaveLength(3);
    expect(stand.notes.map((note) => (note as { level?: string }).level)).toEqual(['warn', 'info']);
  });

  it('is retried after the time that the server requests', async () => {
    server.answering(
      inTurn(status(429, { details: { retryAfterSeconds: 20 } }), json(200, node(1))),
    );
    const since = performance.now();
    await cluster().get(m0, signal);
    expect(performance.now() - since).toBeGreaterThanOrEqual(390);
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
  it('that are invalid fail at once', async () => {
    const kube = cluster({ credentials: () => Promise.resolve('x') });
    await expect(kube.get(m0, signal)).rejects.toMatchObject({ code: 'kube.bad-credentials' });
    const user = { 'client-certificate-data': 'eA==', 'client-key-data': 'eA==' };
    const broken = kubeconfigFor('https://127.0.0.1:1', { user });
    const other = cluster({ credentials: () => Promise.resolve(broken) });
    await expect(other.get(m0, signal)).rejects.toMatchObject({ code: 'kube.bad-credentials' });
  });

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
    const kube = cluster({ credentials: () => Promise.resolve(texts.shift()) });
    expect(await kube.get(m0, signal)).toBeDefined();
    expect(asked()).toHaveLength(2);
  });
});
