import { createHash } from 'node:crypto';
import { createServer, get } from 'node:http';
import { duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { webFailure } from '../http/failures.ts';
import { answering, loopbackRelay, pathOf, signatureUrl } from './loopback-relay.ts';
import type { RelayOutcome, RelaySource } from '../../ports/image-relay.ts';
import type { Download } from '../../ports/inventory.ts';
import type { Web } from '../../ports/web.ts';
import { downloadOf } from '../../../test/support/download.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeWeb } from '../../../test/support/fake-web.ts';

const relay = loopbackRelay({ web: fakeWeb(), clock: fakeClock() });

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
    await close();
    await close();
  });

  it('is taken away when the run ends', async () => {
    const run = new AbortController();
    const { close, outcome } = await relay.serve(
      { url: 'https://a.example/b' },
      { signal: run.signal },
    );
    run.abort(new Error('over'));
    await close();
    expect(outcome().isAsked).toBe(false);
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
  /** Asks over a pair of streams instead of a socket. */
  readonly ask: (path: string, options?: { readonly leaveAfter: number }) => Promise<Answer>;
}

const run = new AbortController().signal;

function relayOf(web: Web, more: Partial<RelaySource> = {}): Relay {
  const { answer, outcome } = answering({ web, clock: fakeClock() }, { url, ...more }, run);
  const server = createServer(answer);
  const ask: Relay['ask'] = (path, { leaveAfter } = { leaveAfter: Infinity }) => {
    const [near, far] = duplexPair();
    server.emit('connection', far);
    return new Promise((resolve, reject) => {
      const request = get({ path, createConnection: () => near }, (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          bytes += chunk.length;
          if (bytes < leaveAfter) return;
          request.destroy();
          // Unlike a socket, one end of the pair does not notice that the other is gone.
          far.destroy();
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
  };
  return { outcome, ask };
}

const path = pathOf({ url });

/** A server that cuts each answer after so many bytes. */
function cuttingWeb(
  after: number,
  { hasRanges }: { readonly hasRanges: boolean },
): Web & { readonly froms: readonly number[] } {
  const froms: number[] = [];
  return {
    froms,
    open: (_, { range }) => {
      const from = hasRanges ? (range?.[0] ?? 0) : 0;
      froms.push(from);
      const rest = image.subarray(from);
      const end = rest.length <= after ? {} : { cut: { after, error: cut } };
      return Promise.resolve(downloadOf(rest, { origin: url, ...end, bytes: rest.length }));
    },
  };
}

describe('the image relay', () => {
  it('hands the image on with its length, and knows its digest', async () => {
    const relay = relayOf(fakeWeb().with(url, image), { sha256 });
    const { status, length, content } = await relay.ask('/metal.raw.gz');
    expect([status, length, content.equals(image)]).toEqual([200, String(image.length), true]);
    expect(relay.outcome()).toEqual({ isAsked: true, bytes: image.length, resumed: 0, sha256 });
  });

  it('never gives the end of an image with another digest', async () => {
    const relay = relayOf(fakeWeb().with(url, image), { sha256: '0'.repeat(64) });
    const { isWhole, content } = await relay.ask(path);
    expect(isWhole).toBe(false);
    expect(content.length).toBeLessThanOrEqual(image.length - 1024 * 1024);
    expect(relay.outcome()).toMatchObject({
      sha256,
      failure: { code: 'image.wrong-digest', kind: 'media', context: { actual: sha256 } },
    });
  });

  it('holds all of an image back that is smaller than what is held', async () => {
    const relay = relayOf(fakeWeb().with(url, 'tiny'), { sha256 });
    await relay.ask(path).catch(() => undefined);
    expect(relay.outcome().failure).toMatchObject({ code: 'image.wrong-digest' });
  });

  it('continues after each cut where the server has ranges', async () => {
    const web = cuttingWeb(1024 * 1024, { hasRanges: true });
    const relay = relayOf(web, { sha256 });
    expect((await relay.ask(path)).content.equals(image)).toBe(true);
    expect(web.froms).toEqual([0, 1, 2, 3].map((count) => count * 1024 * 1024));
    expect(relay.outcome()).toMatchObject({ resumed: 3, sha256 });
  });

  it('takes the image by TLS alone where it is to, after each cut too', async () => {
    const cutting = cuttingWeb(1024 * 1024, { hasRanges: true });
    const asked: unknown[] = [];
    const open: Web['open'] = (address, request) => {
      asked.push(request.tlsOnly);
      return cutting.open(address, request);
    };
    await relayOf({ open }, { tlsOnly: true }).ask(path);
    expect(asked).toEqual([true, true, true, true]);
  });

  it.each<[string, { isLengthKnown: boolean; refuses: boolean }]>([
    ['ignores ranges', { isLengthKnown: true, refuses: false }],
    ['refuses ranges', { isLengthKnown: true, refuses: true }],
    ['does not tell the length', { isLengthKnown: false, refuses: true }],
  ])(
    'reads again from the beginning where the server %s',
    async (_, { isLengthKnown, refuses }) => {
      let calls = 0;
      const web: Web = {
        open: (_url, { range }) => {
          if (refuses && range !== undefined) {
            const details = { context: { status: 200 } };
            return Promise.reject(
              webFailure('web.refused', 'does not support range requests', details),
            );
          }
          calls += 1;
          const shape = calls === 1 ? { cut: { after: 1_000_000, error: cut } } : {};
          const bytes = isLengthKnown ? image.length : false;
          return Promise.resolve(downloadOf(image, { bytes, ...shape }));
        },
      };
      const relay = relayOf(web, { sha256 });
      expect((await relay.ask(path)).content.equals(image)).toBe(true);
      expect(relay.outcome()).toMatchObject({ resumed: 1, sha256 });
    },
  );

  it.each<[string, boolean, number, object]>([
    ['continues with a part that does not say its length', true, image.length, { sha256 }],
    ['puts no two files together, by ranges', true, 4_000_000, { failure: { code: 'image.cut' } }],
    ['puts no two files together', false, 4_000_000, { failure: { code: 'image.cut' } }],
  ])('%s', async (...[, hasRanges, wholeBytes, outcome]) => {
    const first = downloadOf(image, { bytes: image.length, cut: { after: 2_000_000, error: cut } });
    const opened = [first];
    const web: Web = {
      open: (_url, { range: [from] = [0] }) => {
        const part = { ...downloadOf(image.subarray(from), { bytes: false }), wholeBytes };
        const whole = downloadOf(image, { bytes: wholeBytes });
        return Promise.resolve(opened.pop() ?? (hasRanges ? part : whole));
      },
    };
    const relay = relayOf(web);
    await relay.ask(path);
    expect(relay.outcome()).toMatchObject({ resumed: 1, ...outcome });
  });

  it.each<[string, Partial<Download>, Partial<Download>, Partial<RelaySource>, boolean]>([
    ['another ETag', { etag: '"1"' }, { etag: '"2"' }, {}, false],
    ['another time', { lastModified: 'Mon' }, { lastModified: 'Tue' }, {}, false],
    ['no ETag any more', { etag: '"1"', lastModified: 'Mon' }, { lastModified: 'Mon' }, {}, true],
    ['another ETag, where a digest decides', { etag: '"1"' }, { etag: '"2"' }, { sha256 }, true],
  ])('tells by validators whether the rest is of the same file: %s', async (...given) => {
    const [, before, now, source, isWhole] = given;
    for (const hasRanges of [true, false]) {
      const first = downloadOf(image, { cut: { after: 2_000_000, error: cut } });
      const opened = [{ ...first, bytes: image.length, ...before }];
      const web: Web = {
        open: (_url, { range: [from] = [0] }) => {
          const rest = image.subarray(hasRanges ? from : 0);
          const next = { ...downloadOf(rest, { bytes: rest.length }), ...now };
          return Promise.resolve(opened.pop() ?? next);
        },
      };
      const relay = relayOf(web, source);
      await relay.ask(path);
      const outcome = isWhole ? { sha256 } : { failure: { code: 'image.cut' } };
      expect(relay.outcome()).toMatchObject({ resumed: 1, ...outcome });
    }
  });

  it('gives up when the source is cut again and again without a new byte', async () => {
    const relay = relayOf(cuttingWeb(1000, { hasRanges: false }));
    await relay.ask(path).catch(() => undefined);
    expect(relay.outcome().failure).toMatchObject({ code: 'image.cut', kind: 'media' });
  });

  it('takes a body that ends before its length for a cut', async () => {
    const web: Web = { open: () => Promise.resolve(downloadOf('half', { bytes: 4000 })) };
    const relay = relayOf(web);
    await relay.ask(path).catch(() => undefined);
    expect(relay.outcome().failure).toMatchObject({
      code: 'image.cut',
      context: { announced: 4000 },
    });
  });

  it('answers 502 when the source cannot be opened, and says why', async () => {
    const relay = relayOf(fakeWeb());
    expect((await relay.ask(path)).status).toBe(502);
    expect(relay.outcome().failure).toMatchObject({ code: 'web.refused' });
  });

  it('stops reading the source when the reader goes away, which is no failure', async () => {
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
    const relay = relayOf(web);
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
    ['hands the signature on when nothing else guards the image', {}, 200],
    ['has no signature for an image with a digest', { sha256 }, 404],
  ])('%s', async (_, source, status) => {
    const web = fakeWeb().with(url, image).with(signatureUrl(url), 'a signature');
    expect((await relayOf(web, source).ask(`${path}.sig`)).status).toBe(status);
  });

  it('has nothing else, and no signature where the publisher has none', async () => {
    const relay = relayOf(fakeWeb().with(url, image));
    expect((await relay.ask(`${path}.sig`)).status).toBe(404);
    expect((await relay.ask('/else')).status).toBe(404);
    expect(relay.outcome().isAsked).toBe(false);
  });

  it('keeps the query in the address of the signature', () => {
    expect(signatureUrl(url)).toBe('https://mirror.example/rhcos/metal.raw.gz.sig?key=1');
  });
});
