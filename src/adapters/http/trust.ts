import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { webFailure } from './failures.ts';

/** Whom a connection trusts. */
export interface Trust {
  /** PEM certificates beside those of the system. */
  readonly ca?: string;
  /** Trust `ca` alone. */
  readonly caOnly?: boolean;
  /** Do not verify at all. */
  readonly isInsecure?: boolean;
}

/** Files with the system's authorities, Red Hat's first: it is shared with the host. */
const bundles = ['/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/certs/ca-certificates.crt'] as const;

/** What TLS needs to know for a trust; made once, since reading hundreds of certificates is slow. */
export function secureContextFor({
  ca = '',
  caOnly = false,
  isInsecure = false,
}: Trust): SecureContext {
  if (isInsecure) return createSecureContext();
  const added = ca === '' ? [] : certificatesIn(ca);
  return createSecureContext({ ca: [...(caOnly ? [] : systemAuthorities()), ...added] });
}

/** The certificates of a PEM text. @throws AgentError `web.bad-authority` when there is none */
export function certificatesIn(pem: string): readonly string[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw badAuthority('there is no certificate in the CA text');
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
    pem = readFileSync(path, 'utf8');
  } catch (error) {
    throw badAuthority(`the CA file ${path} cannot be read`, error);
  }
  certificatesIn(pem);
  return pem;
}

const badAuthority = (message: string, cause?: unknown): Error =>
  webFailure('web.bad-authority', message, { cause });

function systemAuthorities(): readonly string[] {
  const known = getCACertificates('system');
  if (known.length > 0) return known;
  for (const bundle of bundles) {
    try {
      return certificatesIn(readFileSync(bundle, 'utf8'));
    } catch {
      // The next place, and at last what Node was built with.
    }
  }
  return getCACertificates('bundled');
}
