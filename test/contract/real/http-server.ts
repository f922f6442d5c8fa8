import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import {
  createServer as createPlainServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';

/**
 * Timeouts for tests of a silent server. Other tests use the product's timeouts: on a busy machine,
 * a counted call must not be repeated.
 */
export const impatient = { timeouts: { connect: 500, headers: 300, idle: 300 } };

/** A received request. */
interface Seen {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Answers a request in a test; has the raw response for unusual answers. */
export type Responder = (seen: Seen, response: ServerResponse) => void | Promise<void>;

/** A server on loopback that records its requests. */
export interface TestServer {
  readonly url: string;
  readonly port: number;
  readonly seen: readonly Seen[];
  /** Replaces the answers from now on. */
  readonly answering: (responder: Responder) => void;
  readonly server: Server;
  readonly close: () => Promise<void>;
}

/** Starts a server; with `tls`, for https. */
export async function startServer(responder: Responder, tls?: ServerOptions): Promise<TestServer> {
  let current = responder;
  const seen: Seen[] = [];
  const listener: RequestListener = (request, response) => {
    void receive(request).then(async (one) => {
      seen.push(one);
      await current(one, response);
    });
  };
  const server = tls === undefined ? createPlainServer(listener) : createTlsServer(tls, listener);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    seen,
    server,
    answering: (next) => {
      current = next;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Makes a server open tunnels, all to one port; returns its requests. */
export function tunnelling({ server }: TestServer, port: number): readonly string[] {
  const tunnels: string[] = [];
  server.on('connect', (request, socket) => {
    tunnels.push(request.url ?? '');
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    for (const one of [onward, socket]) one.on('error', () => undefined);
  });
  return tunnels;
}

async function receive(request: IncomingMessage): Promise<Seen> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    body: Buffer.concat(chunks).toString(),
  };
}

/** Answers with a status and JSON. */
export const json =
  (status: number, value: unknown): Responder =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };

/** Answers each request by the next responder; the last one repeats. */
export function inTurn(...responders: readonly Responder[]): Responder {
  let asked = 0;
  return (seen, response) => {
    const responder = responders[Math.min(asked, responders.length - 1)];
    asked += 1;
    return responder?.(seen, response);
  };
}

/** A certificate authority and its server certificate for 127.0.0.1, as PEM. */
export interface Certificates {
  readonly ca: string;
  readonly caFile: string;
  readonly key: string;
  readonly cert: string;
}

/** Makes an authority and a certificate for some names in a directory, with openssl. */
export function makeCertificates(
  directory: string,
  names = 'IP:127.0.0.1,DNS:service.test',
): Certificates {
  const at = (name: string): string => join(directory, name);
  const openssl = (...args: readonly string[]): void => {
    execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
  };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=Test CA');
  openssl('req', ...key, '-keyout', 'key.pem', '-out', 'server.csr', '-subj', '/CN=localhost');
  writeFileSync(at('san.cnf'), `subjectAltName=${names}\n`);
  openssl(
    ...['x509', '-req', '-in', 'server.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key'],
    ...['-CAcreateserial', '-extfile', 'san.cnf', '-out', 'cert.pem'],
  );
  return {
    caFile: at('ca.pem'),
    ca: readFileSync(at('ca.pem'), 'utf8'),
    key: readFileSync(at('key.pem'), 'utf8'),
    cert: readFileSync(at('cert.pem'), 'utf8'),
  };
}
