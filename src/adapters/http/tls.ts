import { X509Certificate } from 'node:crypto';
import {
  type ConnectionOptions,
  createSecureContext,
  getCACertificates,
  type SecureContext,
} from 'node:tls';
import { certificateBlocks } from '../../lib/certificates.ts';
import { readFileOf, readTextSync } from '../file-access.ts';
import { ownOrHost } from '../host-root.ts';
import { webFailure } from './failures.ts';

/** Trust and identity of a connection. */
export interface Trust {
  /** PEM certificates to trust in addition to the system's. */
  readonly ca?: string | undefined;
  /** Trust only `ca`. */
  readonly caOnly?: boolean;
  /** Do not verify at all. */
  readonly isInsecure?: boolean;
  /** PEM certificate of the client, with its key. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/**
 * Files with a system's authorities: on RHEL, where `ca-bundle.crt` is a link to the first, and on
 * Debian. The host's files come before the container's. A pod does not see the host's root, but may
 * have the host's `/etc/pki` mounted.
 */
const bundles = ['/proc/1/root', ''].flatMap((root) => [
  `${root}/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem`,
  `${root}/etc/ssl/certs/ca-certificates.crt`,
]);

/** The TLS context of a trust; made once, since reading hundreds of certificates is slow. */
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

/** The certificates of a PEM text. @throws AgentError `web.bad-authority` if it has none */
export function certificatesIn(pem: string): readonly string[] {
  const blocks = certificateBlocks(pem);
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
 * Reads a file of certificates that a user names, in the container or else on the host.
 * @throws AgentError `web.bad-authority` if it cannot be read or has no certificate
 */
export async function authoritiesIn(path: string): Promise<string> {
  const reading = readFileOf({ at: await ownOrHost(path), path, kind: 'authorities' });
  const pem = (await reading.catch(unreadable(path))).toString();
  certificatesIn(pem);
  return pem;
}

const unreadable =
  (path: string) =>
  (cause: unknown): never => {
    throw badAuthority(`the CA file ${path} cannot be read`, cause);
  };

const badAuthority = (message: string, cause?: unknown): Error =>
  webFailure('web.bad-authority', message, { cause });

function systemAuthorities(): readonly string[] {
  // A file in OpenSSL's own variables is the user's choice; Node reads it.
  const isNamed = ['SSL_CERT_FILE', 'SSL_CERT_DIR'].some((name) => process.env[name] !== undefined);
  for (const bundle of isNamed ? [] : bundles) {
    try {
      return certificatesIn(readTextSync(bundle, 'authorities'));
    } catch {
      // Try the next path.
    }
  }
  // A folder of authorities has each several times, by links and in a bundle; reading one takes a
  // while.
  const known = new Set(getCACertificates('system'));
  return known.size > 0 ? [...known] : getCACertificates('bundled');
}

/** TLS options of a connection. */
export type TlsOptions = Pick<
  ConnectionOptions,
  'secureContext' | 'rejectUnauthorized' | 'servername'
>;

/** TLS options of a connection for a trust. */
export const tlsOptionsFor = (trust: Trust): TlsOptions => ({
  secureContext: secureContextFor(trust),
  rejectUnauthorized: trust.isInsecure !== true,
});
