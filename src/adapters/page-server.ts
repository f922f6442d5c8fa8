import { setTimeout as sleep } from 'node:timers/promises';
import { isIP } from 'node:net';
import { seconds } from '../model/duration.ts';
import type { Patch } from '../page/browser.ts';
import { eventsPath, type LivePage, livePolicy } from '../page/server.ts';
import { HttpRefusal, type HttpRoute } from '../ports/http-route.ts';
import { type ListeningServer, serveRoutes } from './http-server.ts';

/** Listen address of a page. */
export interface PageAddress {
  /** A name or an address. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

const drawEvery = 300;
/** A proxy in between would close a silent stream. */
const quietFor = seconds(20);
const mostReaders = 16;

const headers = {
  'content-security-policy': livePolicy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/**
 * Serves a read-only page to browsers; `close` sends the rest of it.
 * @throws AgentError `serve.address-not-taken`
 */
export async function servePage(page: LivePage, address: PageAddress): Promise<ListeningServer> {
  const drawing = drawings(page);
  const route = (
    path: string,
    contentType: string,
    body: (signal: AbortSignal) => string | ReadableStream,
  ): HttpRoute => ({
    method: 'GET',
    path,
    answer: (request, signal) => {
      if (!isOwnName(request.header('host') ?? '', address.host))
        throw new HttpRefusal(403, 'this page is served by its address alone', headers);
      return new Response(body(signal), { headers: { ...headers, 'content-type': contentType } });
    },
  });
  const routes = [
    route('/', 'text/html; charset=utf-8', () => page.document(Date.now())),
    route(`/${eventsPath}`, 'text/event-stream', (signal) => {
      if (drawing.readers() >= mostReaders) throw new HttpRefusal(503, 'too many readers', headers);
      return ReadableStream.from(drawing.follow(signal));
    }),
  ];
  const served = { listen: address, routes, connections: 2 * mostReaders };
  const { url, close } = await serveRoutes(served, () => undefined);
  return {
    url: `${url}/`,
    close: async () => {
      drawing.end();
      await close();
    },
  };
}

/** A message for browsers; without a patch, a comment that keeps the stream open. */
const messageOf = (patch?: Patch): Uint8Array =>
  Buffer.from(patch === undefined ? ':\n\n' : `data: ${JSON.stringify(patch)}\n\n`);

/**
 * Renders a page for its readers. A reader that was too slow for a change gets the whole page next,
 * so that no changes are stored for it.
 */
function drawings(page: LivePage): {
  readonly readers: () => number;
  readonly follow: (signal: AbortSignal) => AsyncGenerator<Uint8Array>;
  readonly end: () => void;
} {
  let readers = 0;
  let last = { count: 0, at: Date.now(), message: messageOf() };
  const ended = new AbortController();
  const draw = (): void => {
    // A new reader gets the whole page.
    if (readers === 0) return;
    const patch = page.changes(Date.now());
    if (patch === undefined && Date.now() - last.at < quietFor) return;
    last = { count: last.count + 1, at: Date.now(), message: messageOf(patch) };
  };
  const timer = setInterval(draw, drawEvery).unref();
  const follow = async function* follow(first: Uint8Array, count: number, signal: AbortSignal) {
    readers += 1;
    const stopped = AbortSignal.any([ended.signal, signal]);
    try {
      let seen = count;
      yield first;
      while (!stopped.aborted || seen < last.count) {
        if (seen < last.count) {
          const isNext = seen + 1 === last.count;
          seen = last.count;
          yield isNext ? last.message : messageOf(page.whole(Date.now()));
        } else {
          await sleep(drawEvery, undefined, { signal: stopped }).catch(() => undefined);
        }
      }
    } finally {
      readers -= 1;
    }
  };
  return {
    readers: () => readers,
    // Drawn before the answer begins: an error in it is answered by 500, without its text.
    follow: (signal) => follow(messageOf(page.whole(Date.now())), last.count, signal),
    end: () => {
      clearInterval(timer);
      draw();
      ended.abort();
    },
  };
}

/**
 * Whether a request names the server by an address or its own name. An attacker's page can make a
 * browser send requests by a name that points here (DNS rebinding), but not by an address.
 */
export function isOwnName(header: string, listening: string): boolean {
  const name = header
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
  return name === 'localhost' || name === listening.toLowerCase() || isIP(name) !== 0;
}
