import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { Patch } from '../page/client.ts';
import { eventsPath, livePolicy } from '../page/document.ts';
import type { LivePage } from '../page/live.ts';
import { seconds } from '../model/duration.ts';
import { limitedServer, listening, type ListeningServer } from './http-server.ts';

/** Where a page is served. */
export interface PageAddress {
  /** A name or an address. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

const drawEvery = 300;
/** A proxy between would close a stream that is silent. */
const quietFor = seconds(20);
const mostReaders = 16;
/** A reader who is let go comes again by itself, and gets the page of that time. */
const limits = { connections: 2 * mostReaders, waitingBytes: 32 * 1024 ** 2 };

/**
 * Serves a page to browsers, to read only; `close` sends the rest of it.
 * @throws Error of the system where the address cannot be taken
 */
export async function servePage(page: LivePage, address: PageAddress): Promise<ListeningServer> {
  const readers = new Set<ServerResponse>();
  const { server, relieve } = limitedServer(limits, (request, response) => {
    answer(request, response, { page, readers, host: address.host });
  });
  const { url, close } = await listening(server, address);
  let spoke = Date.now();
  const draw = (): void => {
    // Whoever comes gets the whole.
    if (readers.size === 0) return;
    const patch = page.changes(Date.now());
    if (patch === undefined && Date.now() - spoke < quietFor) return;
    spoke = Date.now();
    const text = patch === undefined ? ':\n\n' : messageOf(patch);
    for (const reader of readers) reader.write(text);
    relieve();
  };
  const timer = setInterval(draw, drawEvery);
  return {
    url: `${url}/`,
    close: async () => {
      clearInterval(timer);
      draw();
      for (const reader of readers) reader.end();
      await close();
    },
  };
}

const messageOf = (patch: Patch): string => `data: ${JSON.stringify(patch)}\n\n`;

interface Serving {
  readonly page: LivePage;
  readonly readers: Set<ServerResponse>;
  readonly host: string;
}

const headers = {
  'content-security-policy': livePolicy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { page, readers, host }: Serving,
): void {
  const refuse = (status: number, text: string): void => {
    response.writeHead(status, { ...headers, 'content-type': 'text/plain' }).end(`${text}\n`);
  };
  if (!isOwnName(request.headers.host ?? '', host)) {
    refuse(403, 'this page is served by its address alone');
  } else if (request.method !== 'GET') {
    refuse(405, 'this page can only be read');
  } else if (request.url === '/') {
    const type = { 'content-type': 'text/html; charset=utf-8' };
    response.writeHead(200, { ...headers, ...type }).end(page.document(Date.now()));
  } else if (request.url !== `/${eventsPath}`) {
    refuse(404, 'there is nothing here');
  } else if (readers.size >= mostReaders) {
    refuse(503, 'too many readers');
  } else {
    response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' });
    response.write(messageOf(page.whole(Date.now())));
    readers.add(response);
    response.once('close', () => readers.delete(response));
  }
}

/**
 * Whether a request came by an address: a page of somebody else can make a browser come by a name
 * that it points here (DNS rebinding), but not by an address.
 */
export function isOwnName(header: string, listening: string): boolean {
  const name = header
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
  return name === 'localhost' || name === listening.toLowerCase() || isIP(name) !== 0;
}
