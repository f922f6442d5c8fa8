import { X509Certificate } from 'node:crypto';
import { certificateBlocks } from '../lib/certificates.ts';
import { minutes } from '../model/duration.ts';
import { decodeResource, isDataUrl } from './resource.ts';
import type { Config, Resource } from './types.ts';

/**
 * A clock that is behind by less does no harm: the first use of a certificate is minutes away
 * (assisted-service, `MaximumAllowedTimeDiffMinutes`).
 */
const tolerated = minutes(4);

/**
 * Folder of bootstrap.ign with the TLS files of the temporary control plane (openshift/installer,
 * `pkg/asset/tls`).
 */
const tlsFolder = '/opt/openshift/tls/';

/**
 * The first file whose certificates are all outside of their validity times, with the times of one
 * of them: the authorities of the config server, or the TLS files of a bootstrap host. Undefined if
 * no such file exists. Other checks report a file that cannot be parsed.
 * @param now milliseconds since 1970
 */
export function invalidCertificate(config: Config, now: number): string | undefined {
  const { certificateAuthorities = [] } = config.ignition.security?.tls ?? {};
  const named: readonly (readonly [name: string, resources: readonly Resource[]])[] = [
    ['the authority of the config server', certificateAuthorities],
    ...(config.storage?.files ?? [])
      .filter(({ path }) => path.startsWith(tlsFolder) && path.endsWith('.crt'))
      .map(({ path, contents = {} }) => [path, [contents]] as const),
  ];
  for (const [name, resources] of named) {
    const times = resources.flatMap(timesIn);
    // An expired certificate next to its valid successor does no harm.
    if (times.some(([from, to]) => from <= now + tolerated && to > now)) continue;
    const [first] = times.map((both) => both.map((time) => new Date(time).toISOString()));
    if (first !== undefined) return `${name} is valid from ${first.join(' to ')}`;
  }
  return undefined;
}

function timesIn(resource: Resource): readonly (readonly [from: number, to: number])[] {
  if (!isDataUrl(resource.source ?? '')) return [];
  return certificateBlocks(Buffer.from(decodeResource(resource)).toString('latin1')).flatMap(
    (block) => {
      try {
        const { validFromDate, validToDate } = new X509Certificate(block);
        return [[validFromDate.getTime(), validToDate.getTime()] as const];
      } catch {
        return [];
      }
    },
  );
}
