import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type ReportRequest, sendFirstReport } from '../../src/cli/first-report.ts';
import { Secret } from '../../src/model/secret.ts';
import { version } from '../../src/model/version.ts';
import { type Bundle, copyBundle } from './bundle.ts';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function recorder(status: number): { readonly seen: Seen[]; readonly answer: RequestListener } {
  const seen: Seen[] = [];
  return {
    seen,
    answer: (request, response) => {
      void text(request).then((body) => {
        const { method, url, headers } = request;
        seen.push({ method, url, headers, body });
        response.writeHead(status).end('{}');
      });
    },
  };
}

const progress = '/api/assisted-install/v2/infra-envs/i/hosts/h/progress';

const requestTo = (url: string, more: Partial<ReportRequest> = {}): ReportRequest => ({
  stage: 'Starting installation',
  info: 'worker',
  service: url,
  infraEnvId: 'i',
  hostId: 'h',
  token: new Secret('t'),
  isInsecure: false,
  caFile: '',
  proxies: { http: '', https: '', no: '' },
  ...more,
});

describe('sendFirstReport', () => {
  it('sends what the service expects and says that it was accepted', async () => {
    const { seen, answer } = recorder(200);
    const port = await listen(createServer(answer));
    const { report, hasLeft } = sendFirstReport(requestTo(`http://127.0.0.1:${port}/p`));
    await hasLeft;
    await expect(report.sent).resolves.toBe('accepted');
    expect(report).toMatchObject({ stage: 'Starting installation', info: 'worker' });
    expect(seen).toMatchObject([
      {
        method: 'PUT',
        url: `/p${progress}`,
        body: '{"current_stage":"Starting installation","progress_info":"worker"}\n',
        headers: {
          accept: 'application/json',
          'content-type': 'application/json',
          'user-agent': `bootwright/${version}`,
          'x-secret-key': 't',
          'x-request-id': expect.stringMatching(
            /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
          ) as string,
        },
      },
    ]);
  });

  it('sends the token even when there is none, as the service wants it', async () => {
    const { seen, answer } = recorder(200);
    const port = await listen(createServer(answer));
    await sendFirstReport(requestTo(`http://127.0.0.1:${port}`, { token: new Secret('') })).report
      .sent;
    expect(seen[0]?.headers['x-secret-key']).toBe('');
  });

  it.each([
    [400, 'inventory.rejected'],
    [401, 'inventory.denied'],
    [409, 'inventory.refused'],
  ])('is refused with status %d, and says why', async (status, code) => {
    const port = await listen(createServer(recorder(status).answer));
    const { report } = sendFirstReport(requestTo(`http://127.0.0.1:${port}`));
    await expect(report.sent).resolves.toMatchObject({ code });
  });

  it.each([404, 429, 503])('has failed with status %d, which may pass', async (status) => {
    const port = await listen(createServer(recorder(status).answer));
    const { report } = sendFirstReport(requestTo(`http://127.0.0.1:${port}`));
    await expect(report.sent).resolves.toBe('failed');
  });

  it.each<[string, Partial<ReportRequest>]>([
    ['when nobody listens', {}],
    ['with a token that no header can hold', { token: new Secret('a\nb') }],
    ['with certificates that cannot be read', { service: 'https://h', caFile: '/none' }],
  ])('has failed %s, and nobody waits for it to leave', async (_, more) => {
    const { report, hasLeft } = sendFirstReport(requestTo('http://127.0.0.1:1', more));
    await expect(report.sent).resolves.toBe('failed');
    await hasLeft;
  });

  it('goes through the proxy, except where none is needed', async () => {
    const proxy = recorder(200);
    const proxyPort = await listen(createServer(proxy.answer));
    const outcome = (url: string, no = '') => {
      const proxies = { http: `http://127.0.0.1:${proxyPort}`, https: '', no };
      return sendFirstReport(requestTo(url, { proxies })).report.sent;
    };
    const url = 'http://service.test/p';
    await expect(outcome(url)).resolves.toBe('accepted');
    await expect(outcome(url, '.test')).resolves.toBe('failed');
    const service = recorder(200);
    const port = await listen(createServer(service.answer));
    await expect(outcome(`http://127.0.0.1:${port}/p`)).resolves.toBe('accepted');
    expect(proxy.seen.map((request) => request.url)).toEqual([`${url}${progress}`]);
    expect(service.seen.map((request) => request.url)).toEqual([`/p${progress}`]);
  });

  it('never hands the token to a proxy where a CIDR takes the service out', async () => {
    const proxy = recorder(200);
    const http = `http://127.0.0.1:${await listen(createServer(proxy.answer))}`;
    const elsewhere = 'http://service.test/p';
    const proxies = { http, https: http, no: '.svc,198.51.100.0/24,fd00::/64' };
    for (const url of ['http://198.51.100.7:1', 'http://[fd00::7]:1']) {
      const { report, close } = sendFirstReport(requestTo(url, { proxies }));
      // Nobody is there: no answer is waited for, but a later report has reached the proxy.
      await sendFirstReport(requestTo(elsewhere, { proxies })).report.sent;
      close();
      await expect(report.sent).resolves.toBe('failed');
    }
    const through = `${elsewhere}${progress}`;
    expect(proxy.seen.map((request) => request.url)).toEqual([through, through]);
  });

  it('keeps ids within their part of the path', async () => {
    const { seen, answer } = recorder(200);
    const port = await listen(createServer(answer));
    const refused = { code: 'inventory.rejected' };
    const url = `http://127.0.0.1:${port}`;
    const report = (ids: Partial<ReportRequest>) =>
      sendFirstReport(requestTo(url, ids)).report.sent;
    await expect(report({ infraEnvId: 'a/../b', hostId: 'h' })).resolves.toMatchObject(refused);
    await expect(report({ infraEnvId: 'a', hostId: '..' })).resolves.toMatchObject(refused);
    expect(seen).toEqual([]);
    await report({ infraEnvId: 'a b', hostId: 'h?x' });
    expect(seen[0]?.url).toContain('/infra-envs/a%20b/hosts/h%3Fx/progress');
  });
});

describe('sendFirstReport over TLS', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'bootwright-tls-'));
    const words =
      'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost ' +
      '-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout key.pem -out cert.pem';
    await promisify(execFile)('openssl', words.split(' '), { cwd: folder });
  });
  afterAll(() => rm(folder, { recursive: true }));

  it.each<[string, (cert: string) => Partial<ReportRequest>, unknown]>([
    ['a certificate that is trusted', (caFile) => ({ caFile }), 'accepted'],
    ['a certificate that is not verified', () => ({ isInsecure: true }), 'accepted'],
    [
      'a certificate that nobody trusts',
      () => ({}),
      expect.objectContaining({ code: 'inventory.untrusted' }),
    ],
  ])('meets %s', async (_, trust, outcome) => {
    const cert = join(folder, 'cert.pem');
    const [key, certText] = await Promise.all([readFile(join(folder, 'key.pem')), readFile(cert)]);
    const server = createTlsServer({ key, cert: certText }, recorder(200).answer);
    const port = await listen(server);
    const request = requestTo(`https://127.0.0.1:${port}`, trust(cert));
    await expect(sendFirstReport(request).report.sent).resolves.toEqual(outcome);
  });
});

describe('the built program', () => {
  let bundle: Bundle;
  beforeAll(async () => {
    bundle = await copyBundle();
  });
  afterAll(() => rm(bundle.directory, { recursive: true }));

  it('reports before it can have loaded the rest of itself', async () => {
    const { seen, answer } = recorder(200);
    const port = await listen(createServer(answer));
    const line = `-r worker --url http://127.0.0.1:${port} --cluster-id c --host-id h --boot-device /dev/null`;
    const { exitCode } = await bundle.run(line.split(' '), { path: bundle.startAlone });
    expect(exitCode).toBe(1);
    expect(seen.map(({ url }) => url)).toEqual([
      '/api/assisted-install/v2/infra-envs/c/hosts/h/progress',
    ]);
  });
});
