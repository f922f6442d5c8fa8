// Requests to the API server on the wire, and the handling of its answers.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
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
    const kube = cluster({ credentials: () => Promise.resolve(texts.shift()) });
    expect(await kube.get(m0, signal)).toBeDefined();
    expect(asked()).toHaveLength(2);
  });
});
