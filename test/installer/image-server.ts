import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** How the server treats whoever asks for the image. */
export interface Serving {
  readonly image: Buffer;
  /** Sends the image over about this many seconds; at once without it. */
  readonly overSeconds?: number;
  /** Cuts the connection after this share of the image, 0 to 1. */
  readonly cutAfter?: number;
}

/** A web server on loopback that has one image, and no signature for it. */
export interface ImageServer extends AsyncDisposable {
  readonly imageUrl: string;
}

const pieces = 20;

/** Serves `/tiny.raw`; anything else, such as its signature, is not found. */
export async function serveImage(serving: Serving): Promise<ImageServer> {
  const server = createServer((request, response) => {
    if (request.url === '/tiny.raw') void send(response, serving);
    else response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    imageUrl: `http://127.0.0.1:${port}/tiny.raw`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function send(response: ServerResponse, serving: Serving): Promise<void> {
  const { image, overSeconds = 0, cutAfter = 1 } = serving;
  response.writeHead(200, { 'content-length': image.length });
  const step = Math.ceil(image.length / pieces);
  const end = image.length * cutAfter;
  for (let at = 0; at < end; at += step) {
    if (!response.write(image.subarray(at, Math.min(at + step, end))))
      await once(response, 'drain');
    // Time is what is served here: the tool prints a line at most once a second.
    await sleep((overSeconds * 1000) / pieces);
  }
  if (cutAfter < 1) response.destroy();
  else response.end();
}
