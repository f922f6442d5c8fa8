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

/** Location of the real config: embedded in the pointer config (decompressed here), or remote. */
export type Pointer = { readonly kind: 'embedded'; readonly content: Uint8Array } | RemotePointer;

/** A server has the real config, usually the Machine Config Server. */
export interface RemotePointer {
  readonly kind: 'remote';
  readonly url: string;
  /** Compression and hash of the config to fetch: pass it to `decodeContent`. */
  readonly resource: Resource;
  /** The only PEM certificates to trust for the fetch; empty for plain http. */
  readonly certificateAuthorities: string;
}

/**
 * Reads a pointer config: the first config in its merge list that has a source.
 *
 * @throws AgentError `ignition.pointer-missing`; `ignition.ca-missing`, `ignition.ca-invalid` for
 * an https source; those of `decodeResource` for an embedded config
 */
export function readPointer(config: Config): Pointer {
  const { merge = [] } = config.ignition.config ?? {};
  const resource = merge.find(({ source = '' }) => source !== '');
  if (resource?.source === undefined) {
    const message = 'ignition config has no source among ignition.config.merge';
    throw ignitionFailure('ignition.pointer-missing', message);
  }
  const url = resource.source;
  if (isDataUrl(url)) {
    const bytes = decodeDataUrl(url);
    const { compression, verification } = resource;
    // The inventory service embeds gzip and does not always set `compression`.
    const content = isGzip(bytes) || compression === 'gzip' ? gunzip(bytes) : bytes;
    return { kind: 'embedded', content: decodeContent({ verification }, content) };
  }
  const isSecure = /^https:/iu.test(url);
  const certificateAuthorities = isSecure ? trustedCertificates(config, url) : '';
  return { kind: 'remote', url, resource, certificateAuthorities };
}

/** All certificate authorities that the config embeds. */
function trustedCertificates(config: Config, url: string): string {
  const { certificateAuthorities = [] } = config.ignition.security?.tls ?? {};
  const embedded = certificateAuthorities.filter(({ source = '' }) => isDataUrl(source));
  if (embedded.length === 0) {
    throw ignitionFailure('ignition.ca-missing', 'ignition config has no certificate authority', {
      context: { host: URL.parse(url)?.host ?? '' },
    });
  }
  const blocks = embedded.map((resource, index) => {
    const pem = Buffer.from(decodeResource(resource)).toString('latin1');
    const certificates = certificateBlocks(pem).filter(isCertificate);
    if (certificates.length > 0) return certificates.join('\n');
    const message = 'certificate authority has no PEM certificate';
    throw ignitionFailure('ignition.ca-invalid', message, { context: { index } });
  });
  return blocks.join('\n');
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).serialNumber !== '';
  } catch {
    return false;
  }
}
