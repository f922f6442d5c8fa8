import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Responder } from '../real/http-server.ts';
import type { Fault } from './requests.ts';

const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Responder =>
  (_, response) => {
    response.writeHead(code, headers).end('said by whoever stands before the server');
  };

/** Sends forty bytes of a hundred, then closes the connection. */
const broken: Responder = (_, response) => {
  response.writeHead(200, { 'content-length': '100' });
  response.write(`{"items":[{"metadata":{"name":"${'x'.repeat(10)}`);
  setTimeout(() => {
    response.socket?.resetAndDestroy();
  }, 5);
};

/**
 * Resolves when the response can take more, or its client is gone; ignores the event that loses.
 */
async function drained(response: ServerResponse): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  over.abort();
}

const lump = Buffer.alloc(2 ** 20, 'x');

/** 64 MiB of zeros in 64 KiB: unpacking multiplies the size by a thousand. */
const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20));

const endless =
  (
    head: readonly [number, Readonly<Record<string, string>>],
    first: string | Buffer,
    part: Buffer,
  ): Responder =>
  async (_, response) => {
    response.writeHead(...head).write(first);
    while (!response.destroyed) {
      if (!response.write(part)) await drained(response);
    }
  };

const slow: Responder = async (_, response) => {
  response.writeHead(400);
  while (!response.destroyed) {
    response.write('x');
    await pause(20);
  }
};

/** The answers of a faulty server; a refusing server is closed, and does not answer. */
export const atFault: Readonly<Record<Fault, Responder>> = {
  refused: () => undefined,
  reset: broken,
  stall: () => undefined,
  '401': status(401),
  '404': status(404),
  '409': status(409),
  '429': status(429, { 'retry-after': '30' }),
  '503': status(503),
  HTML: (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Log in</html>');
  },
  endless: endless([200, { 'content-type': 'application/json' }], '["', lump),
  'endless 400': endless([400, { 'content-encoding': 'gzip' }], bomb, bomb),
  'slow 400': slow,
};
