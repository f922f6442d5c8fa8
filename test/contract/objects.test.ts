import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ObjectsOptions, s3Objects } from '../../src/adapters/objects/s3.ts';
import { userAgent } from '../../src/model/version.ts';
import { Secret } from '../../src/model/secret.ts';
import type { Objects } from '../../src/ports/objects.ts';
import { fakeObjects } from '../support/fake-objects.ts';
import { fakeRandom } from '../support/fake-random.ts';
import { quickClock } from '../support/quick-clock.ts';
import {
  impatient,
  inTurn,
  type Responder,
  startServer,
  type TestServer,
} from './real/http-server.ts';

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

describe.each(subjects)('%s keeps the contract of the objects port', (_, make) => {
  it('gives an object as a stream, with its size', async () => {
    const { body, bytes } = await make().get('bucket', 'C/master.ign', signal);
    expect(bytes).toBe(15);
    await expect(text(body)).resolves.toBe('{"ignition":{}}');
  });

  it('says that an object is not there', async () => {
    await expect(make().get('bucket', 'C/none.ign', signal)).rejects.toMatchObject({
      code: 'objects.not-found',
      kind: 'remote',
    });
  });

  it('stops with the reason of the signal', async () => {
    const reason = new Error('enough');
    const stopped = make().get('bucket', 'C/master.ign', AbortSignal.abort(reason));
    await expect(stopped).rejects.toBe(reason);
  });
});

describe('the S3 store', () => {
  it('is asked by path, without a signature when there are no credentials', async () => {
    await real().get('bucket', 'C/master.ign', signal);
    expect(server.seen[0]?.path).toMatch(/^\/bucket\/C\/master\.ign/);
    expect(server.seen[0]?.headers.authorization).toBeUndefined();
    expect(server.seen[0]?.headers['user-agent']).toContain(userAgent);
  });

  it('is asked with a signature when there are, and never with the secret', async () => {
    const credentials = { accessKeyId: 'AKID', secretAccessKey: new Secret('planted-secret') };
    await real({ credentials }).get('bucket', 'C/master.ign', signal);
    expect(server.seen[0]?.headers.authorization).toContain('Credential=AKID/');
    expect(JSON.stringify(server.seen)).not.toContain('planted-secret');
  });

  it('that denies is not asked again', async () => {
    server.answering(problem(403, 'AccessDenied'));
    await expect(real().get('bucket', 'x', signal)).rejects.toMatchObject({
      code: 'objects.denied',
      context: { status: 403, attempts: 1 },
    });
  });

  it('whose clock differs from that of the host is asked again by its own', async () => {
    const credentials = { accessKeyId: 'AKID', secretAccessKey: new Secret('planted-secret') };
    server.answering((seen, response) => {
      if (String(seen.headers['x-amz-date']).startsWith('2035')) return store(seen, response);
      response.setHeader('date', 'Mon, 01 Jan 2035 12:00:00 GMT');
      return problem(403, 'RequestTimeTooSkewed')(seen, response);
    });
    const { body } = await real({ credentials }).get('bucket', 'C/master.ign', signal);
    await expect(text(body)).resolves.toBe('{"ignition":{}}');
  });

  it('that never takes the time of the host names its clock', async () => {
    server.answering(problem(403, 'RequestTimeTooSkewed'));
    await expect(real().get('bucket', 'x', signal)).rejects.toMatchObject({
      code: 'objects.denied',
      hint: expect.stringContaining('clock of this host') as string,
      context: { attempts: 11 },
    });
  });

  it('cannot be asked with a region that is none', async () => {
    await expect(real({ region: '' }).get('bucket', 'x', signal)).rejects.toMatchObject({
      code: 'objects.unreachable',
      message: expect.stringContaining('Region is missing') as string,
    });
  });

  it('that is busy or breaks is asked again', async () => {
    server.answering(
      inTurn(
        problem(503, 'SlowDown'),
        (_, response) => {
          response.socket?.destroy();
        },
        store,
      ),
    );
    const { body } = await real().get('bucket', 'C/master.ign', signal);
    await expect(text(body)).resolves.toBe('{"ignition":{}}');
    expect(server.seen).toHaveLength(3);
  });

  it('that does not answer is asked again', async () => {
    server.answering(inTurn(() => undefined, store));
    const objects = real({ connection: impatient });
    const { body } = await objects.get('bucket', 'C/master.ign', signal);
    await expect(text(body)).resolves.toBe('{"ignition":{}}');
  });

  it('that stops in the middle of an object is cut', async () => {
    server.answering((_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('x'.repeat(40), () => response.socket?.destroy());
    });
    const { body } = await real().get('bucket', 'C/master.ign', signal);
    await expect(text(body)).rejects.toMatchObject({ code: 'web.cut', context: { received: 40 } });
  });

  it('is reached by the proxy', async () => {
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
