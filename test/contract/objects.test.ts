import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ObjectsOptions, s3Objects } from '../../src/adapters/objects/s3.ts';
import { userAgent } from '../../src/model/version.ts';
import { Secret } from '../../src/model/secret.ts';
import type { Objects } from '../../src/ports/objects.ts';
import { fakeObjects } from '../support/fake-objects.ts';
import { fakeRandom } from '../support/fake-random.ts';
import { quickClock } from '../support/quick-clock.ts';
import { type Responder, startServer, type TestServer } from './real/http-server.ts';

const signal = new AbortController().signal;

const problem = (status: number, code: string): Responder => {
  const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`;
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/xml' }).end(body);
  };
};

const store: Responder = (seen, response) => {
  const path = seen.path.split('?')[0];
  if (path === '/bucket/C/master.ign') response.end('{"ignition":{}}');
  else return problem(404, 'NoSuchKey')(seen, response);
};

let server: TestServer;
beforeEach(async () => {
  server = await startServer(store);
});
afterEach(() => server.close());

const real = (more: Partial<ObjectsOptions> = {}): Objects =>
  s3Objects({
    endpoint: server.url,
    region: 'us-east-1',
    clock: quickClock(),
    random: fakeRandom(),
    ...more,
  });

const subjects: readonly [string, () => Objects][] = [
  ['the S3 store', () => real()],
  ['the fake store', () => fakeObjects().with('bucket/C/master.ign', '{"ignition":{}}')],
];

describe.each(subjects)('%s implements the objects port', (_, make) => {
  it('streams an object with its size', async () => {
    const { body, bytes } = await make().get('bucket', 'C/master.ign', signal);
    expect(bytes).toBe(15);
    await expect(text(body)).resolves.toBe('{"ignition":{}}');
  });

  it('reports a missing object', async () => {
    await expect(make().get('bucket', 'C/none.ign', signal)).rejects.toMatchObject({
      code: 'objects.not-found',
      kind: 'remote',
    });
  });

  it('rejects with the abort reason', async () => {
    const reason = new Error('enough');
    const stopped = make().get('bucket', 'C/master.ign', AbortSignal.abort(reason));
    await expect(stopped).rejects.toBe(reason);
  });
});

describe('the S3 store', () => {
  it('is requested by path, unsigned without credentials', async () => {
    await real().get('bucket', 'C/master.ign', signal);
    expect(server.seen[0]?.path).toMatch(/^\/bucket\/C\/master\.ign/);
    expect(server.seen[0]?.headers.authorization).toBeUndefined();
    expect(server.seen[0]?.headers['user-agent']).toContain(userAgent);
  });

  it('is requested with a signature and without the secret key', async () => {
    const credentials = { accessKeyId: 'AKID', secretAccessKey: new Secret('planted-secret') };
    await real({ credentials }).get('bucket', 'C/master.ign', signal);
    expect(server.seen[0]?.headers.authorization).toContain('Credential=AKID/');
    expect(JSON.stringify(server.seen)).not.toContain('planted-secret');
  });

  it('is retried with its own time after a clock skew', async () => {
    const credentials = { accessKeyId: 'AKID', secretAccessKey: new Secret('planted-secret') };
    server.answering((seen, response) => {
      if (String(seen.headers['x-amz-date']).startsWith('2035')) return store(seen, response);
      response.setHeader('date', 'Mon, 01 Jan 2035 12:00:00 GMT');
      return problem(403, 'RequestTimeTooSkewed')(seen, response);
    });
    const { body } = await real({ credentials }).get('bucket', 'C/master.ign', signal);
    await expect(text(body)).resolves.toBe('{"ignition":{}}');
  });

  it('reports the clock of the host after a persistent clock skew', async () => {
    server.answering(problem(403, 'RequestTimeTooSkewed'));
    await expect(real().get('bucket', 'x', signal)).rejects.toMatchObject({
      code: 'objects.denied',
      hint: expect.stringContaining('clock of this host') as string,
      context: { attempts: 11 },
    });
  });

  it('reports a missing region', async () => {
    await expect(real({ region: '' }).get('bucket', 'x', signal)).rejects.toMatchObject({
      code: 'objects.unreachable',
      message: expect.stringContaining('Region is missing') as string,
    });
  });

  it('is requested through the proxy', async () => {
    const proxies = { http: server.url, https: '', no: '' };
    server.answering((_, response) => void response.end('through'));
    const { body } = await real({
      endpoint: 'http://store.test:9000',
      connection: { proxies },
    }).get('bucket', 'C/master.ign', signal);
    await expect(text(body)).resolves.toBe('through');
    expect(server.seen[0]?.path).toMatch(/^http:\/\/store\.test:9000\/bucket\/C\/master\.ign/);
  });
});
