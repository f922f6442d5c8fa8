import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { readUpTo } from '../../lib/read-up-to.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { Clock } from '../../ports/clock.ts';
import {
  type ImageRelay,
  type RelayOutcome,
  type RelaySource,
  imageRelayFailure,
} from '../../ports/image-relay.ts';
import type { Download } from '../../ports/inventory.ts';
import type { Web } from '../../ports/web.ts';
import { listening } from '../http-server.ts';

/** The server that the relay reads from, in a wait. */
const peer = 'the server of the image';

/** Ports with which the relay reads. */
export interface RelayMeans {
  readonly web: Web;
  readonly clock: Clock;
}

/**
 * Relays images over http on the loopback interface, at a free port: the image under its file name,
 * which the writer shows to users, and its signature.
 */
export function loopbackRelay(means: RelayMeans): ImageRelay {
  return {
    serve: async (source, { signal }) => {
      signal.throwIfAborted();
      const name = new URL(source.url).pathname.split('/').at(-1) ?? '';
      const path = `/${name === '' ? 'image.raw' : name}`;
      let outcome: RelayOutcome = { isAsked: false, bytes: 0, resumed: 0 };
      const closed = new AbortController();
      const server = createServer((request, response) => {
        const gone = new AbortController();
        response.once('close', () => gone.abort(new Error('the reader has gone')));
        const reading = { ...means, signal: AbortSignal.any([closed.signal, gone.signal]) };
        const wanted = request.method === 'GET' ? request.url : undefined;
        if (wanted === path) {
          outcome = { isAsked: true, bytes: 0, resumed: 0 };
          void sendImage(source, reading, response, (change) => {
            outcome = { ...outcome, ...change };
          });
        } else if (wanted === `${path}.sig` && source.sha256 === undefined) {
          // With a digest, a signature adds nothing, and a request for it may take time.
          void sendSignature(source, reading, response);
        } else {
          response.writeHead(404).end();
        }
      });
      const { url } = await listening(server, { host: '127.0.0.1', port: 0 });
      const close = async (): Promise<void> => {
        closed.abort(new Error('the relay is closed'));
        if (!server.listening) return;
        const ended = once(server, 'close');
        server.close();
        server.closeAllConnections();
        await ended;
      };
      signal.addEventListener('abort', () => void close(), { once: true });
      return { url: `${url}${path}`, outcome: () => outcome, close };
    },
  };
}

/** One request, which ends with the relay or with its client. */
interface Reading extends RelayMeans {
  readonly signal: AbortSignal;
}

/** A detached GPG signature has some hundred bytes. */
const largestSignature = 64 * 1024;

/** Limit, as some servers delay their answer for a missing file; the image does not wait for it. */
const signatureMillis = 20_000;

/** Sends the signature of an image at the path where coreos-installer looks for it, or 404. */
async function sendSignature(
  { url, tlsOnly = false }: RelaySource,
  { web, signal }: Reading,
  response: ServerResponse,
): Promise<void> {
  const beside = new URL(url);
  beside.pathname += '.sig';
  const limited = AbortSignal.any([signal, AbortSignal.timeout(signatureMillis)]);
  try {
    const { body } = await web.open(beside.href, { peer, signal: limited, tlsOnly });
    const signature = await readUpTo(body, largestSignature);
    if (signature === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-length': signature.length }).end(signature);
  } catch {
    // RHCOS images have no signature, so a missing one is normal.
    response.writeHead(404).end();
  }
}

/**
 * Bytes to hold back until the digest is known: more than any trailer of gzip, xz or zstd, so that
 * no client takes a cut image for a whole one.
 */
const heldBytes = 1024 * 1024;

/** Sends the image; cuts the connection on an error. */
async function sendImage(
  source: RelaySource,
  reading: Reading,
  response: ServerResponse,
  report: (change: Partial<RelayOutcome>) => void,
): Promise<void> {
  const hash = createHash('sha256');
  try {
    const { tlsOnly = false } = source;
    const opened = await reading.web.open(source.url, { peer, signal: reading.signal, tlsOnly });
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      ...(opened.bytes === undefined ? {} : { 'content-length': opened.bytes }),
    });
    const body = resumedBody(source, reading, opened, (chunk, change) => {
      hash.update(chunk);
      report(change);
    });
    const check = (): void => {
      const actual = hash.digest('hex');
      report({ sha256: actual });
      const { sha256: expected = actual } = source;
      if (actual === expected) return;
      const { origin } = opened;
      const what = `${origin} does not have the expected sha256`;
      throw imageRelayFailure('image.wrong-digest', what, {
        context: { origin, expected, actual },
      });
    };
    await pipeline(Readable.from(holdBack(body, { bytes: heldBytes, check })), response);
  } catch (error) {
    // Any other error means that the client went away, which is not a failure of the image.
    if (error instanceof AgentError) report({ failure: error });
    if (!response.headersSent) response.writeHead(502).end();
    else response.destroy();
  }
}

/** Number of cuts in a row without a single byte after which the source is given up. */
const cutsInARow = 5;

/** Pause after the first cut; each further cut in a row doubles it. */
const firstPause: Millis = seconds(1);

/**
 * The body of an open URL, and its rest after every cut, by Range requests. Without a length or
 * support for ranges, a cut ends the body, and the writer starts again.
 * @throws AgentError `image.cut`, and errors of opening the URL again
 */
async function* resumedBody(
  source: RelaySource,
  { web, clock, signal }: Reading,
  opened: Download,
  take: (chunk: Uint8Array, change: Pick<RelayOutcome, 'bytes' | 'resumed'>) => void,
): AsyncGenerator<Uint8Array> {
  const { origin, bytes: total } = opened;
  const { url, tlsOnly = false } = source;
  let { body } = opened;
  let at = 0;
  let resumed = 0;
  for (let cuts = 1; ; cuts += 1) {
    let cause: unknown;
    try {
      for await (const chunk of body) {
        at += chunk.length;
        cuts = 1;
        take(chunk, { bytes: at, resumed });
        yield chunk;
      }
      if (total === undefined || at === total) return;
    } catch (error) {
      cause = error;
    }
    signal.throwIfAborted();
    if (total === undefined || at > total || cuts > cutsInARow) {
      const announced = total === undefined ? {} : { announced: total };
      const amount = total === undefined ? `${at}` : `${at} of ${total}`;
      throw imageRelayFailure('image.cut', `${origin} gave ${amount} bytes`, {
        cause,
        context: { origin, received: at, ...announced },
      });
    }
    await clock.sleep(firstPause * 2 ** (cuts - 1), signal);
    resumed += 1;
    const rest = await web.open(url, { peer, signal, tlsOnly, range: [at, total - 1] });
    refuseOther(opened, rest, total - at, source.sha256 !== undefined);
    ({ body } = rest);
  }
}

/**
 * Refuses the rest of another file, as parts of two files make no image. Mirrors of one file may
 * have different validators, so with a digest, only the digest decides.
 * @throws AgentError `image.cut`
 */
function refuseOther(
  begun: Download,
  rest: Download,
  restBytes: number,
  isVerified: boolean,
): void {
  const { bytes: partBytes = restBytes, wholeBytes = begun.bytes } = rest;
  const sizes = [
    ['size', begun.bytes, wholeBytes],
    ['size of the rest', restBytes, partBytes],
  ] as const;
  const validators = [
    ['ETag', begun.etag, rest.etag],
    ['Last-Modified', begun.lastModified, rest.lastModified],
  ] as const;
  for (const [what, before, now] of isVerified ? sizes : [...sizes, ...validators]) {
    if (before === undefined || now === undefined || before === now) continue;
    const message = `${rest.origin} was replaced: its ${what} is ${now}, and was ${before} when it was begun`;
    throw imageRelayFailure('image.cut', message, { context: { origin: rest.origin } });
  }
}

/**
 * Passes a body on, except its last bytes: they wait until the body has ended and `check` has
 * accepted it. If `check` throws, they are never passed on.
 */
export async function* holdBack(
  body: AsyncIterable<Uint8Array>,
  { bytes, check }: { readonly bytes: number; readonly check: () => void },
): AsyncGenerator<Uint8Array> {
  const held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const chunk of body) {
    held.push(chunk);
    heldBytes += chunk.length;
    // Pass a chunk on when the chunks after it are enough to hold back.
    for (
      let first = held[0];
      first !== undefined && heldBytes - first.length >= bytes;
      first = held[0]
    ) {
      held.shift();
      heldBytes -= first.length;
      yield first;
    }
  }
  check();
  yield* held;
}
