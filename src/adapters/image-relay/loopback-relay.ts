import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
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

const loopback = '127.0.0.1';

/** Hands images on over http on the loopback interface, at a port that is free. */
export function loopbackRelay(means: RelayMeans): ImageRelay {
  return {
    serve: async (source, { signal }) => {
      signal.throwIfAborted();
      const closed = new AbortController();
      const { answer, outcome } = answering(means, source, closed.signal);
      const server = createServer(answer);
      const { url } = await listening(server, { host: loopback, port: 0 });
      const close = async (): Promise<void> => {
        closed.abort(new Error('the relay is closed'));
        if (!server.listening) return;
        const ended = once(server, 'close');
        server.close();
        server.closeAllConnections();
        await ended;
      };
      signal.addEventListener('abort', () => void close(), { once: true });
      return { url: `${url}${pathOf(source)}`, outcome, close };
    },
  };
}

/** What the relay reads with. */
export interface RelayMeans {
  readonly web: Web;
  readonly clock: Clock;
}

/** Answers requests for one image. */
interface Answering {
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void;
  readonly outcome: () => RelayOutcome;
}

/** The path under which an image is found: its file name, which the writer shows to people. */
export function pathOf({ url }: RelaySource): string {
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  return `/${last === '' ? 'image.raw' : last}`;
}

/** Answers with the image, with its signature, and with 404 for everything else. */
export function answering(
  { web, clock }: RelayMeans,
  source: RelaySource,
  signal: AbortSignal,
): Answering {
  const path = pathOf(source);
  let outcome: RelayOutcome = { isAsked: false, bytes: 0, resumed: 0 };
  return {
    outcome: () => outcome,
    answer: (request, response) => {
      const reading = AbortSignal.any([signal, goneSignal(response)]);
      if (request.method === 'GET' && request.url === path) {
        outcome = { isAsked: true, bytes: 0, resumed: 0 };
        const report = (change: Partial<RelayOutcome>): void => {
          outcome = { ...outcome, ...change };
        };
        void handOn({ source, read: { web, clock, signal: reading }, response, report });
      } else if (isForSignature(request, source)) {
        void handOnSignature(web, source.url, { response, signal: reading });
      } else {
        response.writeHead(404).end();
      }
    },
  };
}

/** With a digest a signature adds nothing, and asking for one may cost time. */
const isForSignature = (request: IncomingMessage, source: RelaySource): boolean =>
  request.method === 'GET' &&
  request.url === `${pathOf(source)}.sig` &&
  source.sha256 === undefined;

function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    gone.abort(new Error('the reader has gone'));
  });
  return gone.signal;
}

/** A detached signature of GPG has some hundred bytes. */
const largestBytes = 64 * 1024;

/** Some servers let a request for a file that is not there wait; the image does not wait for it. */
const timeoutMillis = 20_000;

/** The signature beside an image, where coreos-installer looks for it: the query stays behind. */
export function signatureUrl(imageUrl: string): string {
  const url = new URL(imageUrl);
  url.pathname += '.sig';
  return url.href;
}

/** Answers with the signature of an image, or with 404 when none can be had. */
async function handOnSignature(
  web: Web,
  imageUrl: string,
  { response, signal }: { readonly response: ServerResponse; readonly signal: AbortSignal },
): Promise<void> {
  const signature = await readSignature(web, signatureUrl(imageUrl), signal);
  if (signature === undefined) response.writeHead(404).end();
  else response.writeHead(200, { 'content-length': signature.length }).end(signature);
}

async function readSignature(
  web: Web,
  url: string,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const patient = AbortSignal.any([signal, AbortSignal.timeout(timeoutMillis)]);
  try {
    const { body } = await web.open(url, { signal: patient });
    return await readUpTo(body, largestBytes);
  } catch {
    // RHCOS images have no signature: that there is none is the usual case and no error.
    return undefined;
  }
}

/**
 * What is held back until the digest is known: more than any trailer of gzip, xz or zstd, so that
 * no reader can think that it is through.
 */
const heldBytes = 1024 * 1024;

/** One request for the image. */
interface HandingOn {
  readonly source: RelaySource;
  readonly read: Pick<ResumingRead, 'web' | 'clock' | 'signal'>;
  readonly response: ServerResponse;
  readonly report: (change: Partial<RelayOutcome>) => void;
}

/** Answers a request with the image; when something is wrong with it, the connection is cut. */
async function handOn({ source, read, response, report }: HandingOn): Promise<void> {
  const hash = createHash('sha256');
  let bytes = 0;
  let resumed = 0;
  try {
    const { tlsOnly = false } = source;
    const opened = await read.web.open(source.url, { signal: read.signal, tlsOnly });
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      ...(opened.bytes === undefined ? {} : { 'content-length': opened.bytes }),
    });
    const body = resumingBody(opened, {
      ...read,
      url: source.url,
      tlsOnly,
      isVerified: source.sha256 !== undefined,
      onResume: () => report({ resumed: ++resumed }),
    });
    const counted = hashed(body, (chunk) => {
      hash.update(chunk);
      bytes += chunk.length;
      report({ bytes });
    });
    const check = (): void => {
      const sha256 = hash.digest('hex');
      report({ sha256 });
      if (source.sha256 !== undefined && source.sha256 !== sha256) {
        const { origin } = opened;
        const what = `${origin} has another sha256 than expected`;
        throw imageRelayFailure('image.wrong-digest', what, {
          context: { origin, expected: source.sha256, actual: sha256 },
        });
      }
    };
    await pipeline(Readable.from(holdBack(counted, { bytes: heldBytes, check })), response);
  } catch (error) {
    // Whatever else goes wrong is the reader going away, which is no fault of the image.
    if (error instanceof AgentError) report({ failure: error });
    if (!response.headersSent) response.writeHead(502).end();
    else response.destroy();
  }
}

async function* hashed(
  body: AsyncIterable<Uint8Array>,
  take: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    take(chunk);
    yield chunk;
  }
}

/** A source that is cut so often in a row without a single byte is given up. */
const cutsInARow = 5;

/** Pause after the first cut; each further one in a row doubles it. */
const firstPause: Millis = seconds(1);

/** What is read, and what it needs. */
interface ResumingRead {
  readonly web: Web;
  readonly clock: Clock;
  readonly url: string;
  readonly tlsOnly: boolean;
  /** A digest tells whether the parts are of one file. */
  readonly isVerified: boolean;
  readonly signal: AbortSignal;
  /** Told each time the source is taken up again. */
  readonly onResume: () => void;
}

/**
 * The body of a URL that was opened, and its rest after every cut: by Range where the server knows
 * the length and honours the header, else by reading again what is there already.
 * @throws AgentError `image.cut`, and what opening the URL again fails with
 */
async function* resumingBody(opened: Download, read: ResumingRead): AsyncGenerator<Uint8Array> {
  const total = opened.bytes;
  let at = 0;
  let cuts = 0;
  let next = { download: opened, skip: 0 };
  for (;;) {
    let cause: unknown;
    try {
      for await (const chunk of withoutFirst(next.download.body, next.skip)) {
        at += chunk.length;
        cuts = 0;
        yield chunk;
      }
      if (total === undefined || at === total) return;
    } catch (error) {
      cause = error;
    }
    read.signal.throwIfAborted();
    cuts += 1;
    if (cuts > cutsInARow || (total !== undefined && at > total)) {
      throw cutFailure({ opened, at, cause });
    }
    await read.clock.sleep(firstPause * 2 ** (cuts - 1), read.signal);
    read.onResume();
    next = await openAt(read, at, opened);
  }
}

async function openAt(
  read: ResumingRead,
  at: number,
  begun: Download,
): Promise<{ readonly download: Download; readonly skip: number }> {
  const { web, url, signal, tlsOnly } = read;
  const total = begun.bytes;
  const unchanged = (download: Download, bytes: number | undefined): Download => {
    refuseOther(begun, { ...download, bytes }, read);
    return download;
  };
  if (at > 0 && total !== undefined) {
    try {
      const download = await web.open(url, { signal, tlsOnly, range: [at, total - 1] });
      const { bytes, wholeBytes } = download;
      // A server without ranges may answer with the whole file.
      if (wholeBytes === undefined && bytes !== total - at)
        return { download: unchanged(download, bytes), skip: at };
      return { download: unchanged(download, wholeBytes), skip: 0 };
    } catch (error) {
      if (!givesWholeFilesOnly(error)) throw error;
    }
  }
  const download = await web.open(url, { signal, tlsOnly });
  return { download: unchanged(download, download.bytes), skip: at };
}

type Version = Pick<Download, 'origin' | 'etag' | 'lastModified'> & {
  readonly bytes?: number | undefined;
};

/**
 * Two files of one name make no image. Mirrors of one file may have other validators: where there
 * is a digest, it decides.
 * @throws AgentError `image.cut`
 */
function refuseOther(begun: Version, now: Version, { isVerified }: ResumingRead): void {
  const validators = isVerified ? [] : (['etag', 'lastModified'] as const);
  const differs = (['bytes', ...validators] as const).find(
    (name) => begun[name] !== undefined && now[name] !== undefined && begun[name] !== now[name],
  );
  if (differs === undefined) return;
  const what = { bytes: 'size', etag: 'ETag', lastModified: 'Last-Modified' }[differs];
  const message = `${now.origin} was replaced: its ${what} is ${now[differs]}, and was ${begun[differs]} when it was begun`;
  throw imageRelayFailure('image.cut', message, { context: { origin: now.origin } });
}

const givesWholeFilesOnly = (error: unknown): boolean =>
  error instanceof AgentError && error.code === 'web.refused' && error.context['status'] === 200;

async function* withoutFirst(
  body: AsyncIterable<Uint8Array>,
  bytes: number,
): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const chunk of body) {
    const skipped = Math.min(left, chunk.length);
    left -= skipped;
    if (skipped < chunk.length) yield chunk.subarray(skipped);
  }
}

function cutFailure({
  opened,
  at,
  cause,
}: {
  readonly opened: Download;
  readonly at: number;
  readonly cause: unknown;
}): Error {
  const { origin, bytes } = opened;
  const message = `${origin} gave ${at}${bytes === undefined ? '' : ` of ${bytes}`} bytes`;
  return imageRelayFailure('image.cut', message, {
    cause,
    context: { origin, received: at, ...(bytes === undefined ? {} : { announced: bytes }) },
  });
}

/**
 * Passes a body on, but for its last bytes: they wait until the body has come to its end and
 * `check` has accepted it. When `check` throws, they are never given.
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
    // A chunk goes when those behind it are enough to hold.
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
