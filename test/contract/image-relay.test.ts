import { createHash } from 'node:crypto';
import { get } from 'node:http';
import { createConnection } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { webFailure } from '../../src/adapters/http/failures.ts';
import { loopbackRelay } from '../../src/adapters/image-relay/loopback-relay.ts';
import type { RelayOutcome, RelaySource } from '../../src/ports/image-relay.ts';
import type { Download } from '../../src/ports/inventory.ts';
import type { Web } from '../../src/ports/web.ts';
import { downloadOf } from '../support/download.ts';
import { fakeClock } from '../support/fake-clock.ts';
import { fakeWeb } from '../support/fake-web.ts';

const relay = loopbackRelay({ web: fakeWeb(), clock: fakeClock() });

/** Connects to an address and leaves: `connected`, or the code of the error. */
const connect = (address: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(address);
    const socket = createConnection(Number(port), hostname);
    socket.once('connect', () => {
      socket.destroy();
      resolve('connected');
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
  });

describe('the address of the relay', () => {
  it.each([
    ['https://mirror.example/rhcos/metal.raw.gz?key=1', 'metal.raw.gz'],
    ['https://mirror.example', 'image.raw'],
  ])('is on the loopback interface and keeps the file name of %s', async (url, name) => {
    const { url: address, close } = await relay.serve(
      { url },
      { signal: new AbortController().signal },
    );
    expect(address).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:\\d+/${name}$`));
    expect(await connect(address)).toBe('connected');
    await close();
    expect(await connect(address)).toBe('ECONNREFUSED');
    await close();
  });

  it('is not served after the run has ended', async () => {
    const run = new AbortController();
    const { url: address } = await relay.serve(
      { url: 'https://a.example/b' },
      { signal: run.signal },
    );
    run.abort(new Error('over'));
    expect(await connect(address)).toBe('ECONNREFUSED');
    await expect(
      relay.serve({ url: 'https://a.example/b' }, { signal: run.signal }),
    ).rejects.toThrow('over');
  });
});

const url = 'https://mirror.example/rhcos/metal.raw.gz?key=1';
const image = Buffer.alloc(3 * 1024 * 1024 + 17, 'operating system ');
const sha256 = createHash('sha256').update(image).digest('hex');
const cut = webFailure('web.cut', 'body was cut');

interface Answer {
  readonly status: number;
  readonly length: string | undefined;
  readonly content: Buffer;
  readonly isWhole: boolean;
}

interface Relay {
  readonly outcome: () => RelayOutcome;
  readonly ask: (path: string, options?: { readonly leaveAfter: number }) => Promise<Answer>;
}

const path = '/metal.raw.gz';

async function relayOf(web: Web, more: Partial<RelaySource> = {}): Promise<Relay> {
  const served = await loopbackRelay({ web, clock: fakeClock() }).serve(
    { url, ...more },
    { signal: new AbortController().signal },
  );
  onTestFinished(served.close);
  const ask: Relay['ask'] = (wanted, { leaveAfter } = { leaveAfter: Infinity }) =>
    new Promise((resolve, reject) => {
      const request = get(new URL(wanted, served.url), (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          bytes += chunk.length;
          if (bytes >= leaveAfter) request.destroy();
        });
        response.on('error', () => undefined);
        response.on('close', () => {
          const { statusCode: status = 0, complete: isWhole, headers } = response;
          const content = Buffer.concat(chunks);
          resolve({ status, length: headers['content-length'], content, isWhole });
        });
      });
      request.on('error', (error) => {
        if (leaveAfter === Infinity) reject(error);
      });
    });
  return { outcome: served.outcome, ask };
}

/** A server that cuts each answer after a number of bytes. */
function cuttingWeb(after: number): Web & { readonly froms: readonly number[] } {
  const froms: number[] = [];
  return {
    froms,
    open: (_, { range: [from] = [0] }) => {
      froms.push(from);
      const rest = image.subarray(from);
      const end = rest.length <= after ? {} : { cut: { after, error: cut } };
      return Promise.resolve(downloadOf(rest, { origin: url, ...end, bytes: rest.length }));
    },
  };
}

describe('the image relay', () => {
  it('serves the image with its length and computes its digest', async () => {
    const relay = await relayOf(fakeWeb().with(url, image), { sha256 });
    const { status, length, content } = await relay.ask('/metal.raw.gz');
    expect([status, length, content.equals(image)]).toEqual([200, String(image.length), true]);
    expect(relay.outcome()).toEqual({ isAsked: true, bytes: image.length, resumed: 0, sha256 });
  });

  it('withholds the end of an image with a wrong digest', async () => {
    const relay = await relayOf(fakeWeb().with(url, image), { sha256: '0'.repeat(64) });
    const { isWhole, content } = await relay.ask(path);
    expect(isWhole).toBe(false);
    expect(content.length).toBeLessThanOrEqual(image.length - 1024 * 1024);
    expect(relay.outcome()).toMatchObject({
      sha256,
      failure: { code: 'image.wrong-digest', kind: 'media', context: { actual: sha256 } },
    });
  });

  it('reports a wrong digest of a tiny image', async () => {
    const relay = await relayOf(fakeWeb().with(url, 'tiny'), { sha256 });
    await relay.ask(path).catch(() => undefined);
    expect(relay.outcome().failure).toMatchObject({ code: 'image.wrong-digest' });
  });

  it('resumes after each cut with range requests', async () => {
    const web = cuttingWeb(1024 * 1024);
    const relay = await relayOf(web, { sha256 });
    expect((await relay.ask(path)).content.equals(image)).toBe(true);
    expect(web.froms).toEqual([0, 1, 2, 3].map((count) => count * 1024 * 1024));
    expect(relay.outcome()).toMatchObject({ resumed: 3, sha256 });
  });

  it('requests the image by TLS only, even after a cut', async () => {
    const cutting = cuttingWeb(1024 * 1024);
    const asked: unknown[] = [];
    const open: Web['open'] = (address, request) => {
      asked.push(request.tlsOnly);
      return cutting.open(address, request);
    };
    await (await relayOf({ open }, { tlsOnly: true })).ask(path);
    expect(asked).toEqual([true, true, true, true]);
  });

  it.each<[string, number | false, boolean]>([
    ['ignores ranges', image.length, false],
    ['refuses ranges', image.length, true],
    ['sends no length', false, false],
  ])('gives up after a cut when the server %s', async (_, bytes, refuses) => {
    const open: Web['open'] = (_url, { range }) => {
      if (range === undefined)
        return Promise.resolve(downloadOf(image, { bytes, cut: { after: 2_000_000, error: cut } }));
      if (!refuses) return Promise.resolve(downloadOf(image, { bytes }));
      const details = { context: { status: 200 } };
      return Promise.reject(webFailure('web.refused', 'it supports no ranges', details));
    };
    const relay = await relayOf({ open }, { sha256 });
    expect((await relay.ask(path)).isWhole).toBe(false);
    const code = refuses ? 'web.refused' : 'image.cut';
    expect(relay.outcome().failure).toMatchObject({ code });
  });

  const cutOnce = (rest: Download, begun: Partial<Download> = {}): Web => {
    const first = downloadOf(image, { bytes: image.length, cut: { after: 2_000_000, error: cut } });
    const opened = [rest, { ...first, ...begun }];
    return { open: () => Promise.resolve(opened.pop() ?? rest) };
  };
  const rest = image.subarray(2_000_000);

  it('resumes with a part without a length', async () => {
    const part = { ...downloadOf(rest, { bytes: false }), wholeBytes: image.length };
    const relay = await relayOf(cutOnce(part));
    await relay.ask(path);
    expect(relay.outcome()).toMatchObject({ resumed: 1, sha256 });
  });

  it.each<[string, Partial<Download>]>([
    ['the whole', { wholeBytes: 4_000_000 }],
    ['the part', { bytes: 4_000_000 }],
  ])('refuses to resume with another size of %s', async (_, sizes) => {
    const relay = await relayOf(cutOnce({ ...downloadOf(rest), ...sizes }), { sha256 });
    await relay.ask(path);
    expect(relay.outcome().failure).toMatchObject({ code: 'image.cut' });
  });

  it.each<[string, Partial<Download>, Partial<Download>, Partial<RelaySource>, boolean]>([
    ['another ETag', { etag: '"1"' }, { etag: '"2"' }, {}, false],
    ['another Last-Modified', { lastModified: 'Mon' }, { lastModified: 'Tue' }, {}, false],
    ['no ETag on resume', { etag: '"1"', lastModified: 'Mon' }, { lastModified: 'Mon' }, {}, true],
    ['another ETag of an image with a digest', { etag: '"1"' }, { etag: '"2"' }, { sha256 }, true],
  ])('decides by validators whether to resume: %s', async (...given) => {
    const [, before, now, source, isWhole] = given;
    const part = downloadOf(rest, { bytes: rest.length });
    const relay = await relayOf(cutOnce({ ...part, ...now }, before), source);
    await relay.ask(path);
    expect(relay.outcome()).toMatchObject(
      isWhole ? { sha256 } : { failure: { code: 'image.cut' } },
    );
  });

  it('gives up when repeated cuts bring no new byte', async () => {
    const downloads = [
      downloadOf(image, { bytes: image.length, cut: { after: 1000, error: cut } }),
    ];
    const none = () =>
      downloadOf(image.subarray(1000), {
        bytes: image.length - 1000,
        cut: { after: 0, error: cut },
      });
    const relay = await relayOf({ open: () => Promise.resolve(downloads.pop() ?? none()) });
    await relay.ask(path).catch(() => undefined);
    expect(relay.outcome().failure).toMatchObject({
      code: 'image.cut',
      kind: 'media',
      context: { received: 1000 },
    });
  });

  it('treats a body shorter than its length as a cut', async () => {
    const open: Web['open'] = (_url, { range }) =>
      Promise.resolve(
        range === undefined ? downloadOf('half', { bytes: 4000 }) : downloadOf('', { bytes: 3996 }),
      );
    const relay = await relayOf({ open });
    await relay.ask(path).catch(() => undefined);
    expect(relay.outcome().failure).toMatchObject({
      code: 'image.cut',
      context: { announced: 4000 },
    });
  });

  it('answers 502 and reports the failure when the source cannot be opened', async () => {
    const relay = await relayOf(fakeWeb());
    expect((await relay.ask(path)).status).toBe(502);
    expect(relay.outcome().failure).toMatchObject({ code: 'web.refused' });
  });

  it('stops reading the source without a failure when the reader disconnects', async () => {
    const reading = Promise.withResolvers<AbortSignal>();
    const chunk = new Uint8Array(64 * 1024);
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) yield await Promise.resolve(chunk);
    }
    const web: Web = {
      open: (_, { signal }) => {
        reading.resolve(signal);
        return Promise.resolve({ body: endless(), origin: url });
      },
    };
    const relay = await relayOf(web);
    await relay.ask(path, { leaveAfter: 100_000 });
    const signal = await reading.promise;
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    expect(relay.outcome()).toMatchObject({ isAsked: true });
    expect(relay.outcome().failure).toBeUndefined();
  });

  it.each<[string, Partial<RelaySource>, number]>([
    ['serves the signature of an image without a digest', {}, 200],
    ['does not serve the signature of an image with a digest', { sha256 }, 404],
  ])('%s', async (_, source, status) => {
    const web = fakeWeb().with(url, image).with(url.replace('?', '.sig?'), 'a signature');
    const relay = await relayOf(web, source);
    expect((await relay.ask(`${path}.sig`)).status).toBe(status);
  });

  it('answers 404 for a missing signature and other paths', async () => {
    const relay = await relayOf(fakeWeb().with(url, image));
    expect((await relay.ask(`${path}.sig`)).status).toBe(404);
    expect((await relay.ask('/else')).status).toBe(404);
    expect(relay.outcome().isAsked).toBe(false);
  });
});
