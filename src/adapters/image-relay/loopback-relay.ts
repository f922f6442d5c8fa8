import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { handOn } from './image-body.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ImageRelay, RelayOutcome, RelaySource } from '../../ports/image-relay.ts';
import type { Web } from '../../ports/web.ts';

const loopback = '127.0.0.1';

/** Hands images on over http on the loopback interface, at a port that is free. */
export function loopbackRelay(means: RelayMeans): ImageRelay {
  return {
    serve: async (source, { signal }) => {
      signal.throwIfAborted();
      const closed = new AbortController();
      const { answer, outcome } = answering(means, source, closed.signal);
      const server = createServer(answer);
      const port = await listen(server);
      const close = async (): Promise<void> => {
        closed.abort(new Error('the relay is closed'));
        if (!server.listening) return;
        const ended = once(server, 'close');
        server.close();
        server.closeAllConnections();
        await ended;
      };
      signal.addEventListener('abort', () => void close(), { once: true });
      return { url: `http://${loopback}:${port}${pathOf(source)}`, outcome, close };
    },
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, loopback);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
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
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    const { body } = await web.open(url, { signal: patient });
    for await (const chunk of body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > largestBytes) return undefined;
    }
  } catch {
    // RHCOS images have no signature: that there is none is the usual case and no error.
    return undefined;
  }
  return Buffer.concat(chunks);
}
