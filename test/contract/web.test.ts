import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { authoritiesIn } from '../../src/adapters/http/tls.ts';
import { web, type WebOptions } from '../../src/adapters/http/web.ts';
import { reportRetries } from '../../src/engine/wait.ts';
import { seconds } from '../../src/model/duration.ts';
import { userAgent } from '../../src/model/version.ts';
import type { Web } from '../../src/ports/web.ts';
import { fakeRandom } from '../support/fake-random.ts';
import { fakeWeb } from '../support/fake-web.ts';
import { quickClock } from '../support/quick-clock.ts';
import {
  type Certificates,
  impatient,
  inTurn,
  makeCertificates,
  type Responder,
  startServer,
  type TestServer,
  tunnelling,
} from './real/http-server.ts';

const signal = new AbortController().signal;

const pages: Responder = ({ path, headers }, response) => {
  if (path === '/missing') response.writeHead(404).end('no');
  else if (headers.range === 'bytes=2-4')
    response.writeHead(206, { 'content-range': 'bytes 2-4/6' }).end('cde');
  else response.writeHead(200, { 'content-type': 'text/plain' }).end('abcdef');
};

let server: TestServer;
let directory: string;
let certificates: Certificates;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'bootwright-web-'));
  certificates = makeCertificates(directory);
});
afterAll(() => rm(directory, { recursive: true, force: true }));
beforeEach(async () => {
  server = await startServer(pages);
});
afterEach(() => server.close());

const real = (more: Partial<WebOptions> = {}): Web =>
  web({ clock: quickClock(), random: fakeRandom(), ...more });

const subjects: readonly [string, () => Web][] = [
  ['the web', () => real()],
  [
    'the fake web',
    () => fakeWeb().with(`${server.url}/page`, 'abcdef', { contentType: 'text/plain' }),
  ],
];

it.each(['"1"', 'W/"1"'])('returns the validators of a page with the ETag %s', async (etag) => {
  server.answering((_, response) => {
    response.writeHead(200, { etag, 'last-modified': 'Mon, 02 Nov 2026 00:00:00 GMT' }).end();
  });
  const page = await real().open(`${server.url}/page`, { signal });
  expect(page).toMatchObject({ etag: '"1"', lastModified: 'Mon, 02 Nov 2026 00:00:00 GMT' });
  await text(page.body);
});

describe.each(subjects)('%s implements the web port', (_, make) => {
  it('opens a page as a stream', async () => {
    const page = await make().open(`${server.url}/page`, { signal });
    expect(page).toMatchObject({ contentType: 'text/plain', origin: `${server.url}/page` });
    await expect(text(page.body)).resolves.toBe('abcdef');
  });

  it('opens a range of a page', async () => {
    const part = await make().open(`${server.url}/page`, { signal, range: [2, 4] });
    expect(part).toMatchObject({ wholeBytes: 6 });
    await expect(text(part.body)).resolves.toBe('cde');
  });

  it('reports a missing page', async () => {
    const missing = make().open(`${server.url}/missing`, { signal });
    await expect(missing).rejects.toMatchObject({
      code: 'web.refused',
      kind: 'remote',
      context: { status: 404 },
    });
  });

  it('rejects with the abort reason', async () => {
    const reason = new Error('enough');
    const stopped = make().open(`${server.url}/page`, { signal: AbortSignal.abort(reason) });
    await expect(stopped).rejects.toBe(reason);
  });
});

describe('the web', () => {
  it('retries temporary errors before the body begins', async () => {
    server.answering(
      inTurn(
        (_, response) => void response.writeHead(503, { 'retry-after': '1' }).end(),
        (_, response) => {
          response.socket?.destroy();
        },
        pages,
      ),
    );
    const notices: number[] = [];
    const page = await real({ onRetry: ({ attempt }) => notices.push(attempt) }).open(
      `${server.url}/page`,
      { signal },
    );
    await expect(text(page.body)).resolves.toBe('abcdef');
    expect(notices).toEqual([1, 2]);
  });

  it('reports a wait with the name and address of the server', async () => {
    server.answering(inTurn((_, response) => void response.writeHead(500).end(), pages));
    const updated = vi.fn();
    const peer = 'the machine-config-server';
    await reportRetries({ updated, finished: () => undefined }, () =>
      real().open(`${server.url}/page`, { peer, signal }),
    );
    expect(updated.mock.calls).toMatchObject([
      [{ sentence: `${peer} at ${new URL(server.url).host}`, status: '500, attempt 1' }],
    ]);
  });

  it('follows redirects and sends credentials only to their own server', async () => {
    const other = await startServer(pages);
    server.answering(({ path }, response) => {
      const location = path === '/page' ? '/second' : `${other.url}/end`;
      response.writeHead(302, { location }).end();
    });
    const url = server.url.replace('http://', 'http://user:p%40ss@');
    const page = await real().open(`${url}/page`, { signal });
    expect(page.origin).toBe(`${other.url}/end`);
    const basic = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual([basic, basic]);
    expect(other.seen.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    await other.close();
  });

  it.each(['http://[', 'ftp://elsewhere/image', 'https://'])(
    'refuses a redirect to %s',
    async (location) => {
      server.answering((_, response) => void response.writeHead(302, { location }).end());
      await expect(real().open(`${server.url}/a`, { signal })).rejects.toMatchObject({
        code: 'web.refused',
        message: expect.stringContaining('redirects to what is no http address') as string,
      });
    },
  );

  it('refuses a redirect to plain http when TLS is required', async () => {
    const location = `${server.url}/page`;
    server.answering((_, response) => void response.writeHead(302, { location }).end());
    const page = real().open(`${server.url}/a`, { signal, tlsOnly: true });
    await expect(page).rejects.toMatchObject({
      code: 'web.refused',
      kind: 'remote',
      message: `${server.url}/a redirects to plain http, where nothing verifies it`,
    });
  });

  it('refuses a redirect loop', async () => {
    server.answering((_, response) => void response.writeHead(302, { location: '/' }).end());
    await expect(real().open(server.url, { signal })).rejects.toMatchObject({
      code: 'web.refused',
    });
  });

  it('refuses the whole file in place of a range', async () => {
    const part = real().open(`${server.url}/page`, { signal, range: [1, 2] });
    await expect(part).rejects.toMatchObject({ code: 'web.refused', context: { status: 200 } });
  });
});

describe('trust', () => {
  let secure: TestServer;
  beforeEach(async () => {
    secure = await startServer(pages, certificates);
  });
  afterEach(() => secure.close());
  const read = async (page: ReturnType<Web['open']>): Promise<string> => text((await page).body);

  it('rejects an unknown CA without a retry', async () => {
    await expect(real().open(secure.url, { signal })).rejects.toMatchObject({
      code: 'web.untrusted',
      context: { attempts: 1 },
    });
  });

  it('accepts a CA of the connection or of the request', async () => {
    const reported = real({ connection: { ca: await authoritiesIn(certificates.caFile) } });
    await expect(read(reported.open(secure.url, { signal }))).resolves.toBe('abcdef');
    const { ca } = certificates;
    await expect(read(real().open(secure.url, { signal, ca }))).resolves.toBe('abcdef');
    await expect(read(real().open(secure.url, { signal, ca, caOnly: true }))).resolves.toBe(
      'abcdef',
    );
  });

  it('accepts no other CA with caOnly', async () => {
    const reported = real({ connection: { ca: certificates.ca } });
    const { ca } = makeCertificates(directory);
    const alone = reported.open(secure.url, { signal, ca, caOnly: true });
    await expect(alone).rejects.toMatchObject({ code: 'web.untrusted' });
    certificates = makeCertificates(directory);
  });

  it('accepts any certificate when insecure', async () => {
    const insecure = real({ connection: { isInsecure: true } });
    await expect(read(insecure.open(secure.url, { signal }))).resolves.toBe('abcdef');
  });

  it.each([
    ['a missing file', '/nowhere/ca.pem'],
    ['a file without certificates', new URL(import.meta.url).pathname],
  ])('refuses %s as a CA file', async (_, path) => {
    await expect(authoritiesIn(path)).rejects.toMatchObject({
      code: 'web.bad-authority',
      kind: 'input',
    });
  });
});

describe('proxies', () => {
  const throughProxy = (more: object = {}): Web => {
    const proxies = { http: server.url, https: server.url, no: '' };
    return real({ connection: { proxies, ...more } });
  };

  it('are requested with the absolute URL for http', async () => {
    const through = throughProxy();
    const page = await through.open('http://service.test/page', { signal });
    await expect(text(page.body)).resolves.toBe('abcdef');
    expect(server.seen[0]).toMatchObject({
      path: 'http://service.test/page',
      headers: { host: 'service.test', 'user-agent': userAgent },
    });
  });

  it('with TLS are verified like servers', async () => {
    const proxy = await startServer(pages, certificates);
    const secure = await startServer(pages, certificates);
    const tunnels = tunnelling(proxy, secure.port);
    const proxies = { http: proxy.url, https: proxy.url, no: '' };
    const through = real({ connection: { proxies, ca: certificates.ca } });
    for (const url of ['http://service.test/page', 'https://service.test/page']) {
      const page = await through.open(url, { signal });
      await expect(text(page.body)).resolves.toBe('abcdef');
    }
    expect(proxy.seen.map(({ path }) => path)).toEqual(['http://service.test/page']);
    expect(tunnels).toEqual(['service.test:443']);
    const stranger = real({ connection: { proxies } });
    for (const url of ['http://service.test/page', 'https://service.test/page']) {
      await expect(stranger.open(url, { signal })).rejects.toMatchObject({ code: 'web.untrusted' });
    }
    await proxy.close();
    await secure.close();
  });

  it('that refuse a tunnel fail the request at once', async () => {
    server.server.on('connect', (_, socket) => {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    });
    const through = throughProxy();
    await expect(through.open('https://service.test/', { signal })).rejects.toMatchObject({
      code: 'web.unreachable',
      context: { attempts: 1, proxy: server.url },
      message: expect.stringContaining('407') as string,
    });
  });

  it('get their credentials for http and for tunnels', async () => {
    const asked: (string | undefined)[] = [];
    server.server.on('connect', ({ headers }, socket) => {
      asked.push(headers['proxy-authorization']);
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    const address = server.url.replace('//', '//user:p%40ss@');
    const proxies = { http: address, https: address, no: '' };
    const through = real({ connection: { proxies } });
    await through.open('http://service.test/page', { signal });
    await through.open('https://service.test/', { signal }).catch(() => undefined);
    const basic = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
    expect(asked).toEqual([basic]);
    expect(server.seen.map(({ headers }) => headers['proxy-authorization'])).toEqual([basic]);
  });

  it.each([407, 403])(
    'that answer %d for http fail the request without a retry',
    async (status) => {
      server.answering((_, response) => void response.writeHead(status).end('who are you'));
      await expect(throughProxy().open('http://service.test/', { signal })).rejects.toMatchObject({
        code: 'web.refused',
        context: { status, attempts: 1 },
      });
    },
  );

  it('that do not answer a tunnel request time out', async () => {
    const sockets: Duplex[] = [];
    server.server.on('connect', (_, socket) => sockets.push(socket));
    const proxies = { http: '', https: server.url, no: '' };
    const through = real({ connection: { ...impatient, proxies }, openLimit: seconds(600) });
    await expect(through.open('https://service.test/', { signal })).rejects.toMatchObject({
      context: { error: 'HEADERS_TIMEOUT', proxy: server.url },
    });
    expect(sockets.length).toBeGreaterThan(1);
  });

  it('that are unreachable are named without their password', async () => {
    const away = `http://user:planted@127.0.0.1:1`;
    const proxies = { http: away, https: away, no: '' };
    const through = real({ connection: { proxies }, openLimit: seconds(3) });
    for (const url of ['http://service.test/', 'https://service.test/']) {
      const error: unknown = await through.open(url, { signal }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: 'web.unreachable',
        context: { error: 'ECONNREFUSED', proxy: 'http://127.0.0.1:1' },
      });
      expect(JSON.stringify(error)).not.toContain('planted');
    }
  });

  it('are not used by a request with caOnly', async () => {
    const secure = await startServer(pages, certificates);
    const proxies = { http: 'http://127.0.0.1:1', https: 'http://127.0.0.1:1', no: '' };
    const options = { signal, ca: certificates.ca, caOnly: true };
    const direct = real({ connection: { proxies } });
    await expect(direct.open(secure.url, options)).resolves.toBeDefined();
    await secure.close();
  });
});
