import { once } from 'node:events';
import { createReadStream, statSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** The interruption of a reader past a position of the image. */
interface Interruption {
  /** 0 to 1. */
  readonly atShare: number;
  /** `hold` stops sending and keeps the connection; `cut` closes it. */
  readonly how: 'hold' | 'cut';
}

/** A web server for one image, as a mirror beside the cluster is one; it knows ranges. */
export interface ImageServer extends AsyncDisposable {
  readonly port: number;
  readonly path: string;
  /** Where each request for more than a beginning began, in bytes. */
  readonly begins: readonly number[];
}

/** More than any look at the beginning of an image asks for. */
const beginningBytes = 16 * 1024 * 1024;

/**
 * Serves a file on loopback; other paths, such as a signature, are not found. The first
 * interruption is for the first request for more than a beginning, and so on.
 */
export async function serveImage(
  file: string,
  interruptions: readonly Interruption[] = [],
): Promise<ImageServer> {
  const path = `/${basename(file)}`;
  const bytes = statSync(file).size;
  const begins: number[] = [];

  const send = async (response: ServerResponse, from: number, to: number): Promise<void> => {
    const isWhole = to - from > beginningBytes;
    const interruption = isWhole ? interruptions[begins.length] : undefined;
    if (isWhole) begins.push(from);
    const end = interruption === undefined ? to : Math.floor(bytes * interruption.atShare);
    await pipeline(createReadStream(file, { start: from, end: end - 1 }), response, {
      end: interruption === undefined,
    });
    if (interruption?.how === 'cut') response.destroy();
  };

  const server = createServer((request, response) => {
    if (request.url !== path) {
      response.writeHead(404).end();
      return;
    }
    const [from, to] = rangeOf(request.headers.range, bytes);
    const isPart = request.headers.range !== undefined;
    response.writeHead(isPart ? 206 : 200, {
      'content-length': to - from,
      'accept-ranges': 'bytes',
      ...(isPart ? { 'content-range': `bytes ${from}-${to - 1}/${bytes}` } : {}),
    });
    // A client that disconnects is a guest whose power was cut, or a writer that gave up.
    send(response, from, to).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    path,
    begins,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** First byte, and the one after the last. */
export function rangeOf(header: string | undefined, bytes: number): [from: number, to: number] {
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(header ?? '') ?? [];
  if (from === undefined) return [0, bytes];
  return [Number(from), to === '' ? bytes : Math.min(Number(to) + 1, bytes)];
}
