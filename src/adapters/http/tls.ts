import { X509Certificate } from 'node:crypto';
import { type AgentOptions, request, type RequestOptions } from 'node:http';
import { Agent, request as requestOverTls } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  connect,
  type ConnectionOptions,
  createSecureContext,
  getCACertificates,
  type SecureContext,
} from 'node:tls';
import { basicCredentials } from '../../lib/shown-url.ts';
import { readTextSync } from '../file-access.ts';
import { webFailure } from './failures.ts';
import { userAgent } from '../../model/version.ts';

/** Whom a connection trusts. */
export interface Trust {
  /** PEM certificates beside those of the system. */
  readonly ca?: string;
  /** Trust `ca` alone. */
  readonly caOnly?: boolean;
  /** Do not verify at all. */
  readonly isInsecure?: boolean;
  /** PEM certificate that shows who we are, with its key. */
  readonly certificate?: string;
  readonly key?: string;
}

/** Files with the system's authorities, Red Hat's first: it is shared with the host. */
const bundles = ['/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/certs/ca-certificates.crt'] as const;

/** What TLS needs to know for a trust; made once, since reading hundreds of certificates is slow. */
function secureContextFor({
  ca = '',
  caOnly = false,
  isInsecure = false,
  certificate: cert,
  key,
}: Trust): SecureContext {
  const own = { ...(cert === undefined ? {} : { cert }), ...(key === undefined ? {} : { key }) };
  if (isInsecure) return createSecureContext(own);
  const added = ca === '' ? [] : certificatesIn(ca);
  return createSecureContext({ ...own, ca: [...(caOnly ? [] : systemAuthorities()), ...added] });
}

/** The certificates of a PEM text. @throws AgentError `web.bad-authority` when there is none */
export function certificatesIn(pem: string): readonly string[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw badAuthority('the CA text holds no certificate');
  for (const block of blocks) {
    try {
      new X509Certificate(block);
    } catch (error) {
      throw badAuthority('a certificate in the CA text cannot be read', error);
    }
  }
  return blocks;
}

/**
 * Reads a file of certificates.
 * @throws AgentError `web.bad-authority` when it cannot be read or has no certificate
 */
export function authoritiesIn(path: string): string {
  let pem: string;
  try {
    pem = readTextSync(path, 'authorities');
  } catch (error) {
    throw badAuthority(`the CA file ${path} cannot be read`, error);
  }
  certificatesIn(pem);
  return pem;
}

const badAuthority = (message: string, cause?: unknown): Error =>
  webFailure('web.bad-authority', message, { cause });

function systemAuthorities(): readonly string[] {
  // A folder of them has each several times, by link and in a bundle; to read one takes a while.
  const known = new Set(getCACertificates('system'));
  if (known.size > 0) return [...known];
  for (const bundle of bundles) {
    try {
      return certificatesIn(readTextSync(bundle, 'authorities'));
    } catch {
      // The next place, and at last what Node was built with.
    }
  }
  return getCACertificates('bundled');
}

/** What a connection is opened with under a trust. */
export const tlsOptionsFor = (trust: Trust): ConnectionOptions => ({
  secureContext: secureContextFor(trust),
  rejectUnauthorized: trust.isInsecure !== true,
});

/** Connections straight to servers that speak TLS. */
export const directAgent = (trust: Trust, options: AgentOptions): Agent =>
  new Agent({ ...options, ...tlsOptionsFor(trust) });

/** A connection to a proxy that speaks TLS. */
export const connectOverTls = (trust: Trust, proxy: string, lookup: LookupFunction): Duplex =>
  connect({ ...tlsOptionsFor(trust), ...addressOf(new URL(proxy)), lookup });

/** How a tunnel is opened. */
interface Tunnel {
  readonly proxy: string;
  /** What the connection to a proxy that speaks TLS itself is opened with. */
  readonly proxyTls: ConnectionOptions;
  readonly timeout: number;
  readonly lookup: LookupFunction | undefined;
}

/** Connections to servers that speak TLS, each through a tunnel of a proxy (RFC 9110, CONNECT). */
export function tunnelAgent(
  options: AgentOptions,
  { proxy, proxyTls, timeout, lookup }: Tunnel,
): Agent {
  const agent = new Agent(options);
  const toProxy = { ...proxyTls, timeout, ...(lookup && { lookup }) };
  agent.createConnection = (server, callback) => {
    const give = callback as (error: Error | null, socket?: Duplex) => void;
    openTunnel(new URL(proxy), server as AgentOptions & ConnectionOptions, toProxy)
      .then((socket) => {
        const secured = connect({ ...(server as ConnectionOptions), socket });
        secured.once('error', give);
        secured.once('secureConnect', () => {
          secured.off('error', give);
          give(null, secured);
        });
      })
      .catch(give);
    return undefined;
  };
  return agent;
}

function openTunnel(
  proxy: URL,
  server: ConnectionOptions,
  options: RequestOptions,
): Promise<Socket> {
  const target = `${isIP(server.host ?? '') === 6 ? `[${server.host}]` : server.host}:${server.port}`;
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const asked = (proxy.protocol === 'https:' ? requestOverTls : request)({
    ...options,
    ...addressOf(proxy),
    method: 'CONNECT',
    path: target,
    headers: { Host: target, 'User-Agent': userAgent, ...credentialsOf(proxy) },
    agent: false,
  });
  asked.once('connect', ({ statusCode }, socket: Socket) => {
    if (statusCode === 200) resolve(socket);
    else {
      socket.destroy();
      reject(new Error(`a tunnel was refused with status ${statusCode}`));
    }
  });
  asked.once('timeout', () => asked.destroy(new Error('the proxy did not open a tunnel in time')));
  asked.once('error', reject);
  asked.end();
  return promise;
}

const addressOf = ({ hostname, port, protocol }: URL): { host: string; port: number } => ({
  host: hostname.replace(/^\[|\]$/g, ''),
  port: Number(port || (protocol === 'https:' ? 443 : 80)),
});

function credentialsOf(proxy: URL): Record<string, string> {
  const credentials = basicCredentials(proxy);
  return credentials === undefined ? {} : { 'Proxy-Authorization': credentials };
}
