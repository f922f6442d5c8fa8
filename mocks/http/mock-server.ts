import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { type Fault, faultPlan, strike } from './fault.ts';

/** A server of the lab: it records every request and lets faults strike. */
export type MockServer = Awaited<ReturnType<typeof startMockServer>>;

/** How a server of the lab is started. */
interface MockServerOptions {
  readonly answer: (request: Request) => Response | Promise<Response>;
  readonly faults?: readonly Fault[];
  /** A free port unless given. */
  readonly port?: number;
  /** Certificate and key, as PEM, of a server that speaks TLS. */
  readonly tls?: { readonly certificate: string; readonly key: string } | undefined;
}

/** Starts a server on 127.0.0.1 around the answers of one stand-in; port 0 takes a free one. */
export async function startMockServer({ answer, faults = [], port = 0, tls }: MockServerOptions) {
  const requests: RecordedRequest[] = [];
  const plan = faultPlan(faults);
  const server = createAdaptorServer({
    fetch: (request, env) => answerOne(request, env as HttpBindings),
    ...(tls === undefined
      ? {}
      : { createServer, serverOptions: { cert: tls.certificate, key: tls.key } }),
  }) as Server;
  let taken = port;
  let isClosed = false;
  let reopening: NodeJS.Timeout | undefined;

  async function answerOne(request: Request, env: HttpBindings): Promise<Response> {
    const body = new Uint8Array(await request.arrayBuffer());
    const record = recordOf(request, body, Date.now());
    requests.push(record);
    const fault = plan.decide(record);
    const whole = async (): Promise<Response> => answer(replay(request, body));
    const answered =
      fault === undefined ? await whole() : await strike(fault, { env, answer: whole, refuse });
    // RESPONSE_ALREADY_SENT carries 200 although nothing of the kind was sent.
    if (!env.outgoing.destroyed) record.status = answered.status;
    return answered;
  }

  /** Closes the listening socket and every connection for a time: connections are refused. */
  function refuse(milliseconds: number): void {
    if (isClosed || reopening !== undefined) return;
    server.close();
    server.closeAllConnections();
    reopening = setTimeout(() => {
      reopening = undefined;
      void listen(server, taken);
    }, milliseconds);
  }

  taken = await listen(server, port);
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${taken}`,
    /** Every request so far, in order of arrival. */
    requests: requests as readonly RecordedRequest[],
    faults: plan,
    close: async (): Promise<void> => {
      isClosed = true;
      clearTimeout(reopening);
      server.closeAllConnections();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}

/** The request again, its body having been read. */
const replay = (request: Request, body: Uint8Array): Request =>
  new Request(request.url, {
    method: request.method,
    headers: request.headers,
    ...(body.length === 0 ? {} : { body: Buffer.from(body) }),
  });

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A request as a server of the lab has seen it. */
export interface RecordedRequest {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  /** Path with query, as it was sent. */
  readonly path: string;
  /** Only the headers of `recordedHeaders`, lower case, and only those that were sent. */
  readonly headers: Readonly<Record<string, string>>;
  /** Text of the body; of an upload only its first kibibyte. */
  readonly body: string;
  /** Status that was answered; undefined while no answer was given and when a fault ate it. */
  status?: number;
}

/** Headers that a recording keeps. */
const recordedHeaders = [
  'accept',
  'authorization',
  'content-length',
  'content-type',
  'user-agent',
  'x-request-id',
  'x-secret-key',
] as const;

const UPLOAD_EXCERPT_BYTES = 1024;

/** Makes the record of one request. */
function recordOf(request: Request, body: Uint8Array, at: number): RecordedRequest {
  const { pathname, search } = new URL(request.url);
  const sent = recordedHeaders.flatMap((name) => {
    const value = request.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  const isText = (request.headers.get('content-type') ?? '').includes('json');
  return {
    at,
    method: request.method,
    path: `${pathname}${search}`,
    headers: Object.fromEntries(sent),
    body: Buffer.from(isText ? body : body.subarray(0, UPLOAD_EXCERPT_BYTES)).toString('utf8'),
  };
}
