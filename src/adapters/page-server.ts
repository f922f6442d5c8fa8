import { setTimeout as sleep } from 'node:timers/promises';
import { isIP } from 'node:net';
import { seconds } from '../model/duration.ts';
import type { Patch } from '../page/browser.ts';
import { eventsPath, type LivePage, livePolicy } from '../page/server.ts';
import { type HttpAnswer, HttpRefusal, type HttpRoute } from '../ports/http-route.ts';
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
    content: () => Omit<HttpAnswer, 'status'>,
    atOnce?: number,
  ): HttpRoute => ({
    method: 'GET',
    path,
    ...(atOnce === undefined ? {} : { atOnce }),
    answer: ({ headers: { host = '' } }) => {
      if (!isOwnName(host, address.host))
        throw new HttpRefusal(403, 'this page is served by its address alone', headers);
      const own = { ...headers, 'content-type': contentType };
      return Promise.resolve({ status: 200, headers: own, ...content() });
    },
  });
  const routes = [
    route('/', 'text/html; charset=utf-8', () => ({ body: page.document(Date.now()) })),
    route(`/${eventsPath}`, 'text/event-stream', () => ({ stream: drawing.follow() }), mostReaders),
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

const messageOf = (patch: Patch): string => `data: ${JSON.stringify(patch)}\n\n`;

/**
 * Renders a page for its readers. A reader that was too slow for a change gets the whole page next,
 * so that no changes are stored for it.
 */
function drawings(page: LivePage): {
  readonly follow: () => AsyncGenerator<string>;
  readonly end: () => void;
} {
  let readers = 0;
  let last = { count: 0, at: Date.now(), text: '' };
  const ended = new AbortController();
  const draw = (): void => {
    // A new reader gets the whole page.
    if (readers === 0) return;
    const patch = page.changes(Date.now());
    if (patch === undefined && Date.now() - last.at < quietFor) return;
    const text = patch === undefined ? ':\n\n' : messageOf(patch);
    last = { count: last.count + 1, at: Date.now(), text };
  };
  const timer = setInterval(draw, drawEvery).unref();
  return {
    follow: async function* follow() {
      readers += 1;
      try {
        let seen = last.count;
        yield messageOf(page.whole(Date.now()));
        while (!ended.signal.aborted || seen < last.count) {
          if (seen < last.count) {
            const isNext = seen + 1 === last.count;
            seen = last.count;
            yield isNext ? last.text : messageOf(page.whole(Date.now()));
          } else {
            await sleep(drawEvery, undefined, { signal: ended.signal }).catch(() => undefined);
          }
        }
      } finally {
        readers -= 1;
      }
    },
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
