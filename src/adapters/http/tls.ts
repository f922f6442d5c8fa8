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
 * Reads a file of certificates that a person names: of the container, or else of the host.
 * @throws AgentError `web.bad-authority` when it cannot be read or has no certificate
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

/** What a connection that speaks TLS is opened with. */
export type TlsOptions = Pick<
  ConnectionOptions,
  'secureContext' | 'rejectUnauthorized' | 'servername'
>;

/** What a connection is opened with under a trust. */
export const tlsOptionsFor = (trust: Trust): TlsOptions => ({
  secureContext: secureContextFor(trust),
  rejectUnauthorized: trust.isInsecure !== true,
});
