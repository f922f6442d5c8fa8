import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { type Fault, faultPlan, strike } from './fault.ts';

/** A lab server: it records every request and applies faults. */
export type MockServer = Awaited<ReturnType<typeof startMockServer>>;

/** Options of a lab server. */
interface MockServerOptions {
  readonly answer: (request: Request) => Response | Promise<Response>;
  readonly faults?: readonly Fault[];
  /** Default: a free port. */
  readonly port?: number;
  /** Certificate and key as PEM, for a server with TLS. */
  readonly tls?: { readonly certificate: string; readonly key: string } | undefined;
}

/** Starts a server on 127.0.0.1 with the answers of a stand-in; port 0 takes a free one. */
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
    // RESPONSE_ALREADY_SENT has status 200, although the server did not send that.
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

/** The request again, after its body has been read. */
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

/** A request as a lab server received it. */
export interface RecordedRequest {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  /** Path with query, as sent. */
  readonly path: string;
  /** Only headers in `recordedHeaders`, in lower case, if sent. */
  readonly headers: Readonly<Record<string, string>>;
  /** Text of the body; for an upload only its first kibibyte. */
  readonly body: string;
  /** Status of the answer; undefined before the answer, and if a fault prevented it. */
  status?: number;
}

/** Headers that a record keeps. */
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
