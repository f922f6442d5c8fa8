import { X509Certificate } from 'node:crypto';
import { Buffer } from 'node:buffer';

import {
  decodeContent,
  decodeDataUrl,
  decodeResource,
  gunzip,
  isDataUrl,
  isGzip,
} from './resource.ts';
import { certificateBlocks } from '../lib/certificates.ts';
import { ignitionFailure } from './failures.ts';
import type { Config, Resource } from './types.ts';

/** Where a pointer config says that the real config is. */
export type Pointer = EmbeddedPointer | RemotePointer;

/** The real config is inside the pointer. */
interface EmbeddedPointer {
  readonly kind: 'embedded';
  /** The bytes of the real config, decompressed. */
  readonly content: Uint8Array;
}

/** The real config is served, as a rule by the Machine Config Server. */
export interface RemotePointer {
  readonly kind: 'remote';
  readonly url: string;
  /** For the compression and the hash of what is fetched: pass it to `decodeContent`. */
  readonly resource: Resource;
  /** PEM certificates to trust, and no others; empty for plain http. */
  readonly certificateAuthorities: string;
}

/**
 * Reads a pointer config: the first config to merge that has a source.
 *
 * @throws AgentError `ignition.pointer-missing`; `ignition.ca-missing`, `ignition.ca-invalid` for
 * an https source; as `decodeResource` for an embedded one
 */
export function readPointer(config: Config): Pointer {
  const { merge = [] } = config.ignition.config ?? {};
  const resource = merge.find(({ source = '' }) => source !== '');
  if (resource?.source === undefined) {
    const message = 'ignition config has no source among ignition.config.merge';
    throw ignitionFailure('ignition.pointer-missing', message);
  }
  const url = resource.source;
  if (isDataUrl(url)) return { kind: 'embedded', content: embeddedContent(url, resource) };
  const isSecure = /^https:/iu.test(url);
  const certificateAuthorities = isSecure ? trustedCertificates(config, url) : '';
  return { kind: 'remote', url, resource, certificateAuthorities };
}

/** The inventory service embeds gzip without always saying so in `compression`. */
function embeddedContent(url: string, { compression, verification }: Resource): Uint8Array {
  const bytes = decodeDataUrl(url);
  const content = isGzip(bytes) || compression === 'gzip' ? gunzip(bytes) : bytes;
  return verification === undefined ? content : decodeContent({ verification }, content);
}

/** All certificate authorities that are embedded in the config. */
function trustedCertificates(config: Config, url: string): string {
  const { certificateAuthorities = [] } = config.ignition.security?.tls ?? {};
  const embedded = certificateAuthorities.filter(({ source = '' }) => isDataUrl(source));
  if (embedded.length === 0) {
    throw ignitionFailure('ignition.ca-missing', 'ignition config has no certificate authority', {
      context: { host: URL.parse(url)?.host ?? '' },
    });
  }
  return embedded.flatMap((resource, index) => certificatesOf(resource, index)).join('\n');
}

function certificatesOf(resource: Resource, index: number): string[] {
  const pem = Buffer.from(decodeResource(resource)).toString('latin1');
  const certificates = certificateBlocks(pem).filter(isCertificate);
  if (certificates.length > 0) return certificates;
  throw ignitionFailure('ignition.ca-invalid', 'certificate authority has no PEM certificate', {
    context: { index },
  });
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).serialNumber !== '';
  } catch {
    return false;
  }
}
