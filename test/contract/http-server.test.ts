import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import type { HonoRequest } from 'hono';
import { describe, expect, it } from 'vitest';
import { type RoutesToServe, serveRoutes } from '../../src/adapters/http-server.ts';
import { servePage } from '../../src/adapters/page-server.ts';
import { livePage } from '../../src/page/server.ts';
import { emptyPage } from '../../src/page/state.ts';
import { HttpRefusal } from '../../src/ports/http-route.ts';
import { makeCertificates } from './real/http-server.ts';

const size = async (given: HonoRequest) => new Response(`${(await given.text()).length}`);

const routes: RoutesToServe['routes'] = [
  { method: 'GET', path: '/healthz', answer: () => new Response('ok') },
  { method: 'POST', path: '/size', bodyLimit: 1000, answer: size },
  { method: 'PUT', path: '/size', bodyLimit: 1000, answer: size },
  {
    method: 'GET',
    path: '/clusters/:cluster/files/:name',
    answer: (given) => {
      const [cluster, name, of] = [given.param('cluster'), given.param('name'), given.query('of')];
      return Response.json({ cluster, name, of });
    },
  },
  {
    method: 'GET',
    path: '/refused',
    answer: () => Promise.reject(new HttpRefusal(409, 'not yet', { 'retry-after': '7' })),
  },
  {
    method: 'GET',
    path: '/broken',
    answer: () => Promise.reject(new TypeError('no such thing')),
  },
];

interface Noted {
  readonly message: string;
  readonly fields: object;
}

/** A server on a free port, and raw connections to it. */
async function serving(more: Partial<RoutesToServe> = {}) {
  const notes: Noted[] = [];
  const listen = { host: '127.0.0.1', port: 0 };
  const server = await serveRoutes({ listen, routes, ...more }, (_, message, fields) => {
    notes.push({ message, fields });
  });
  const { port } = new URL(server.url);
  const sockets: Socket[] = [];
  const open = async (text: string): Promise<Socket> => {
    const socket = connect(Number(port), '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(text);
    return socket;
  };
  return {
    url: server.url,
    port: Number(port),
    notes,
    open,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await server.close();
    },
  };
}

/** Reads until a text has arrived. */
async function until(socket: Socket, text: string): Promise<string> {
  let seen = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    seen += chunk.toString();
    if (seen.includes(text)) return seen;
  }
  throw new Error(`the connection has ended after: ${seen}`);
}

const request = (line: string, ...headers: readonly string[]): string =>
  [`${line} HTTP/1.1`, 'Host: 127.0.0.1', ...headers, '', ''].join('\r\n');

const status = async (socket: Socket): Promise<string> =>
  (await until(socket, '\r\n\r\n')).split('\r\n')[0] ?? '';

describe('routes over HTTP', () => {
  it.each([
    ['GET /healthz', 200, 'ok'],
    ['HEAD /healthz', 200, ''],
    ['GET /healthz/', 404, 'there is nothing here\n'],
    ['DELETE /healthz', 405, 'only GET\n'],
    ['GET /size', 405, 'only POST, PUT\n'],
    ['GET /clusters/a%2Fb/files/c?of=d', 200, '{"cluster":"a/b","name":"c","of":"d"}'],
    ['GET /clusters//files/c', 404, 'there is nothing here\n'],
    ['GET /clusters/%ff/files/c', 404, 'there is nothing here\n'],
    ['GET /refused', 409, 'not yet\n'],
  ])('answers %s with %i', async (line, code, body) => {
    const [method = '', path = ''] = line.split(' ');
    await using own = await serving();
    const answer = await fetch(`${own.url}${path}`, { method });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect([answer.status, await answer.text()]).toEqual([code, body]);
  });

  it.each(['[fd00:0:0:0::10]:80', '[::ffff:10.0.0.1]:8090', '[fe80::1%eth0]', ''])(
    'accepts the Host header %j',
    async (host) => {
      await using own = await serving();
      const asking = await own.open(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect(await status(asking)).toBe('HTTP/1.1 200 OK');
    },
  );

  it.each([
    [request('GET /healthz', 'hOST: evil.example'), 'more than one Host'],
    [request('GET http://other.example/healthz'), 'no path of this server'],
  ])('answers %j with 400 and its reason', async (text, why) => {
    await using own = await serving();
    const answer = await until(await own.open(text), why);
    expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*cache-control: no-store/i);
  });

  it('answers 500 without details when a route throws, and continues', async () => {
    await using own = await serving();
    const answer = await fetch(`${own.url}/broken`);
    expect([answer.status, await answer.text()]).toEqual([500, '']);
    const fields = { method: 'GET', path: '/broken', why: 'no such thing' };
    expect(own.notes).toEqual([{ message: 'a request has failed here', fields }]);
    expect((await fetch(`${own.url}/healthz`)).status).toBe(200);
  });
});

describe('bodies of requests', () => {
  it('are refused with 408 after their deadline, which frees their slot', async () => {
    const slow = { method: 'POST', path: '/slow', bodyLimit: 9, deadline: 100, atOnce: 1 } as const;
    await using own = await serving({ routes: [{ ...slow, answer: size }] });
    const first = await own.open(request('POST /slow', 'Content-Length: 9') + 'half');
    expect(await status(first)).toBe('HTTP/1.1 408 Request Timeout');
    first.destroy();
    await expect
      .poll(async () => (await fetch(`${own.url}/slow`, { method: 'POST', body: 'whole' })).status)
      .toBe(200);
    expect(own.notes).toEqual([]);
  });

  // Much more than the buffers of the connection hold.
  const rest = 'x'.repeat(16 * 1024 ** 2);
  const chunk = 'x'.repeat(2000);
  it.each([
    ['408 Request Timeout', '/slow', `Content-Length: ${rest.length + 4}`, 'half', rest],
    ['413 Payload Too Large', '/size', `Content-Length: ${rest.length}`, '', rest],
    [
      '413 Payload Too Large',
      '/size',
      'Transfer-Encoding: chunked',
      `${(chunk.length + rest.length).toString(16)}\r\n${chunk}`,
      `${rest}\r\n0\r\n\r\n`,
    ],
  ])(
    'are discarded after %s of %s, %s, and the connection answers further requests',
    async (refusal, path, header, begin, more) => {
      const slow = { method: 'POST', path: '/slow', bodyLimit: 9e9, deadline: 100 } as const;
      await using own = await serving({ routes: [...routes, { ...slow, answer: size }] });
      const client = await own.open(request(`POST ${path}`, header) + begin);
      expect(await status(client)).toBe(`HTTP/1.1 ${refusal}`);
      client.write(more + request('GET /healthz'));
      expect(await until(client, 'HTTP/1.1 200')).toContain('HTTP/1.1 200 OK');
    },
  );

  it('are streamed to a route', async () => {
    const seen: string[] = [];
    await using own = await serving({
      routes: [
        {
          method: 'POST',
          path: '/logs',
          bodyLimit: 1024 ** 3,
          answer: async ({ raw }) => {
            const chunks: AsyncIterable<Uint8Array> = raw.body ?? expect.fail();
            for await (const chunk of chunks) seen.push(new TextDecoder().decode(chunk));
            return new Response(null, { status: 204 });
          },
        },
      ],
    });
    const sending = await own.open(request('POST /logs', 'Content-Length: 10') + 'first');
    await expect.poll(() => seen).toEqual(['first']);
    sending.write('other');
    expect(await status(sending)).toBe('HTTP/1.1 204 No Content');
    expect(seen.join('')).toBe('firstother');
  });
});

describe('requests at a server', () => {
  /** Routes whose answers wait for the test. */
  function held(atOnce?: number) {
    const entered: AbortSignal[] = [];
    const gate = Promise.withResolvers<undefined>();
    const wait = async (_: HonoRequest, signal: AbortSignal) => {
      entered.push(signal);
      await gate.promise;
      return new Response();
    };
    const own = atOnce === undefined ? {} : { atOnce };
    return {
      entered,
      open: gate.resolve,
      routes: [
        { method: 'GET', path: '/wait', answer: wait, ...own } as const,
        { method: 'GET', path: '/quick', answer: () => new Response() } as const,
      ],
    };
  }

  it('are limited for all routes together', async () => {
    const { entered, open, routes: waiting } = held();
    await using own = await serving({ routes: waiting, atOnce: 1 });
    const first = fetch(`${own.url}/wait`);
    await expect.poll(() => entered.length).toBe(1);
    const refused = await fetch(`${own.url}/quick`);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    open(undefined);
    expect((await first).status).toBe(200);
    expect((await fetch(`${own.url}/quick`)).status).toBe(200);
  });

  it('get 503 at their deadline, and count until their work has ended', async () => {
    const { entered, open, routes: waiting } = held(1);
    await using own = await serving({
      routes: waiting.map((route) => ({ ...route, deadline: 50 })),
    });
    expect((await fetch(`${own.url}/wait`)).status).toBe(503);
    expect(entered[0]?.aborted).toBe(true);
    expect((await fetch(`${own.url}/wait`)).status).toBe(503);
    expect(entered).toHaveLength(1);
    open(undefined);
    await expect.poll(() => fetch(`${own.url}/wait`).then(() => entered.length)).toBe(2);
  });

  it('are aborted when the client disconnects', async () => {
    const { entered, open, routes: waiting } = held();
    await using own = await serving({ routes: waiting });
    const client = await own.open(request('GET /wait'));
    await expect.poll(() => entered.length).toBe(1);
    client.destroy();
    await expect.poll(() => entered[0]?.aborted).toBe(true);
    open(undefined);
  });
});

describe('clients of a server', () => {
  const half = 'GET / HT';
  const get = request('GET /healthz');

  it('are answered at the connection limit: the oldest incomplete request is closed', async () => {
    await using own = await serving({ connections: 4 });
    const halves: Socket[] = [];
    for (let count = 0; count < 4; count += 1) halves.push(await own.open(half));
    const gone = once(halves[0]!, 'close');
    expect(await status(await own.open(get))).toBe('HTTP/1.1 200 OK');
    await gone;
    expect(halves.slice(1).map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
  });

  it('are closed when their unread responses exceed the limit', async () => {
    const answer = () => new Response('x'.repeat(6 * 1024 ** 2));
    const routes = [{ method: 'GET', path: '/large', answer } as const];
    await using own = await serving({ routes, waitingBytes: 8 * 1024 ** 2 });
    const slow = await own.open(request('GET /large').repeat(3));
    slow.pause();
    const gone = once(slow, 'close');
    slow.resume();
    await gone;
    const read = await fetch(`${own.url}/large`);
    expect((await read.text()).length).toBe(6 * 1024 ** 2);
  });

  it('are closed when they pipeline a thousand requests', async () => {
    let answers = 0;
    const answer = () => {
      answers += 1;
      return new Response('x'.repeat(1000));
    };
    await using own = await serving({ routes: [{ method: 'GET', path: '/x', answer }] });
    const flood = await own.open(request('GET /x').repeat(1000));
    await once(flood, 'close');
    expect(answers).toBeLessThanOrEqual(4);
    expect(await status(await own.open(request('GET /x')))).toBe('HTTP/1.1 200 OK');
  });
});

it('a page on an address in use leaves no timer behind', async () => {
  await using own = await serving();
  const timers = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  const page = livePage(emptyPage('A cluster', 'One host.', 0));
  const served = servePage(page, { host: '127.0.0.1', port: own.port });
  await expect(served).rejects.toMatchObject({ code: 'serve.address-not-taken' });
  expect(timers()).toBeLessThanOrEqual(before);
});

describe('routes over HTTPS', () => {
  /**
   * A folder of a Secret as the kubelet makes it: links to the target of `..data`, which is
   * renamed.
   */
  function secretFolder() {
    const root = mkdtempSync(join(tmpdir(), 'serving-'));
    const folder = join(root, 'mounted');
    mkdirSync(folder);
    let count = 0;
    const put = (cert: string, key: string): void => {
      count += 1;
      mkdirSync(join(folder, `..${count}`));
      writeFileSync(join(folder, `..${count}`, 'tls.crt'), cert);
      writeFileSync(join(folder, `..${count}`, 'tls.key'), key);
      symlinkSync(`..${count}`, join(folder, '..next'));
      renameSync(join(folder, '..next'), join(folder, '..data'));
    };
    const make = () => makeCertificates(mkdtempSync(join(root, 'made-')));
    for (const name of ['tls.crt', 'tls.key'])
      symlinkSync(join('..data', name), join(folder, name));
    return {
      folder,
      put,
      make,
      [Symbol.dispose]: () => {
        rmSync(root, { recursive: true });
      },
    };
  }

  const answered = async (port: number, ca: string): Promise<string> => {
    const socket = connectTls({ host: '127.0.0.1', port, ca });
    const failed = once(socket, 'error').then(([error]) => {
      throw error as Error;
    });
    await Promise.race([once(socket, 'secureConnect'), failed]);
    socket.write(request('GET /healthz'));
    const line = await status(socket);
    socket.destroy();
    return line;
  };

  it('reload their certificate, and keep the old one while the new one is invalid', async () => {
    using secret = secretFolder();
    const [first, second] = [secret.make(), secret.make()];
    secret.put(first.cert, first.key);
    await using own = await serving({ certificateFolder: secret.folder });
    expect(await answered(own.port, first.ca)).toBe('HTTP/1.1 200 OK');
    secret.put(second.cert, first.key);
    const refused = 'the new certificate of a server cannot be used; the old one stays';
    await expect.poll(() => own.notes.map(({ message }) => message)).toEqual([refused]);
    expect(await answered(own.port, first.ca)).toBe('HTTP/1.1 200 OK');
    secret.put(second.cert, second.key);
    await expect.poll(() => own.notes.length).toBe(2);
    expect(await answered(own.port, second.ca)).toBe('HTTP/1.1 200 OK');
    await expect(answered(own.port, first.ca)).rejects.toThrow(
      /unable to verify|self-signed|unable to get|signature/,
    );
  });

  it('are answered at the limit of connections without a TLS handshake', async () => {
    using secret = secretFolder();
    const made = secret.make();
    secret.put(made.cert, made.key);
    await using own = await serving({ certificateFolder: secret.folder, connections: 4 });
    const silent: Socket[] = [];
    for (let count = 0; count < 4; count += 1) silent.push(await own.open(''));
    const gone = once(silent[0]!, 'close');
    expect(await answered(own.port, made.ca)).toBe('HTTP/1.1 200 OK');
    await gone;
  });

  it.each([
    ['no files', (): void => undefined],
    [
      'no PEM',
      ({ put }: ReturnType<typeof secretFolder>): void => {
        put('certificate', 'key');
      },
    ],
  ])('fail with a code when the folder has %s', async (_, prepare) => {
    using secret = secretFolder();
    prepare(secret);
    const start = serving({ certificateFolder: secret.folder });
    await expect(start).rejects.toMatchObject({ code: 'serve.certificate-not-read' });
  });
});
