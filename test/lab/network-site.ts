import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { connect, createServer as createPlainServer, type Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LabSite } from '../../mocks/lab/lab-host.ts';
import { makeCertificates } from '../contract/real/http-server.ts';

/** The password of the proxy; it must be seen nowhere. */
export const proxyPassword = 'planted-password-5e1b';

/** An address that agents reach without a proxy, in a block that NO_PROXY can name. */
export const nearAddress = '10.77.0.3';

const proxyUrl = `http://site:${proxyPassword}@10.77.0.1:3128`;
const apiPort = 6443;

/** A network that agents are confined to. */
interface NetworkSite extends AsyncDisposable {
  readonly site: LabSite;
  readonly proxyUrl: string;
  readonly caFile: string;
  /** Targets of requests to the proxy: `service.site.test:443`, or a whole http URL. */
  readonly proxied: readonly string[];
  /** How often somebody without the right password asked it. */
  readonly denied: () => number;
}

/**
 * Makes a network namespace without an interface but loopback: no route, no name service. At
 * addresses of loopback, forwarded to this machine, are a proxy with a password, the API server of
 * the host, and with `isNear` the service. The servers of the lab have names of a domain that
 * the proxy alone knows, and speak TLS by a private authority.
 */
export async function networkSite(
  { isNear = false }: { readonly isNear?: boolean },
  given: Pick<LabSite, 'flags' | 'environment'>,
): Promise<NetworkSite> {
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-network-'));
  const at = (name: string): string => join(folder, name);
  const names = ['DNS:*.site.test', 'DNS:registry.example.test', `IP:${nearAddress}`];
  const { cert, key, caFile } = makeCertificates(folder, names.join(','));
  const ports = { service: 0, objects: 0, api: 0 };
  const portOf = (name: string): number =>
    name === 'objects.site.test' ? ports.objects : ports.service;
  const front = createTlsServer({ cert, key }, (client: TLSSocket) => {
    const name = typeof client.servername === 'string' ? client.servername : '';
    pair(client, connect(portOf(name), '127.0.0.1'));
  });
  const proxied: string[] = [];
  let denied = 0;
  const proxy = startProxy({
    portOf,
    tls: at('front'),
    allows: (what, { headers }) => {
      const right = `Basic ${Buffer.from(`site:${proxyPassword}`).toString('base64')}`;
      if (headers['proxy-authorization'] === right) proxied.push(what);
      else denied += 1;
      return headers['proxy-authorization'] === right && !what.startsWith(nearAddress);
    },
  });
  const api = createPlainServer((client) => pair(client, connect(ports.api, '127.0.0.1')));
  await Promise.all([
    listen(front, at('front')),
    listen(proxy, at('proxy')),
    listen(api, at('api')),
  ]);
  const door = await openDoor([
    `10.77.0.1:3128=${at('proxy')}`,
    `127.0.0.1:${apiPort}=${at('api')}`,
    ...(isNear ? [`${nearAddress}:443=${at('front')}`] : []),
  ]);
  return {
    proxyUrl,
    caFile,
    proxied,
    denied: () => denied,
    site: {
      ...given,
      flags: [...given.flags, '--cacert', caFile],
      network: { enter: ['/usr/bin/nsenter', `--net=/proc/${door.pid}/ns/net`, '--'] },
      addressOf: (url, server) => {
        ports[server] = Number(new URL(url).port);
        if (server === 'api') return `https://127.0.0.1:${apiPort}`;
        return `https://${isNear && server === 'service' ? nearAddress : `${server}.site.test`}`;
      },
    },
    [Symbol.asyncDispose]: async () => {
      door.stop();
      for (const server of [front, proxy, api]) server.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Connects both ways; the end of one is the end of the other. */
export function pair(one: Duplex, other: Duplex): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
    from.pipe(to);
  }
}

/** Lets a server listen at a Unix socket. */
export async function listen(server: NetServer | Server, path: string): Promise<void> {
  server.listen(path);
  await once(server, 'listening');
}

/**
 * Starts the door in namespaces of its own, of the network and of mounts, after these commands of a
 * shell there.
 * @param words ADDRESS:PORT=SOCKET
 * @throws Error where no namespace can be made
 */
export async function openDoor(words: readonly string[], commands: readonly string[] = []) {
  const addresses = words
    .map((word) => word.replace(/:.*/, ''))
    .filter((one) => one !== '127.0.0.1');
  const script = [
    'ip link set lo up',
    ...[...new Set(addresses)].map((address) => `ip address add ${address}/32 dev lo`),
    ...commands,
    'exec "$@"',
  ].join(' && ');
  const program = join(import.meta.dirname, 'network-door.ts');
  const child = spawn(
    'unshare',
    ['--net', '--mount', '--', 'sh', '-c', script, 'sh', process.execPath, program, ...words],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = once(child, 'close').then(() => {
    throw new Error('no network namespace can be made here; it takes root');
  });
  // The end of the test is no failure of it.
  ended.catch(() => undefined);
  await Promise.race([once(child.stdout, 'data'), ended]);
  return { pid: child.pid ?? 0, stop: () => child.kill('SIGKILL') };
}

interface ProxyPlan {
  /** The port of a server by its name. */
  readonly portOf: (name: string) => number;
  /** Socket of what speaks TLS for all of them. */
  readonly tls: string;
  readonly allows: (what: string, asked: IncomingMessage) => boolean;
}

/** A proxy that knows the names of the site: tunnels to port 443, and plain requests. */
function startProxy({ portOf, tls, allows }: ProxyPlan): Server {
  const proxy = createServer((asked, answer) => {
    const { url = '', method, headers } = asked;
    if (!allows(url, asked)) {
      answer.writeHead(407).end();
      return;
    }
    const { hostname, pathname, search } = new URL(url);
    const onward = request(
      { host: '127.0.0.1', port: portOf(hostname), path: `${pathname}${search}`, method, headers },
      (found) => found.pipe(answer.writeHead(found.statusCode ?? 502, found.headers)),
    );
    onward.on('error', () => answer.destroy());
    asked.pipe(onward);
  });
  proxy.on('connect', (asked, socket) => {
    if (!allows(asked.url ?? '', asked)) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    pair(socket, connect(tls));
  });
  return proxy;
}
