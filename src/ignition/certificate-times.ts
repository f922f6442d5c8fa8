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
 * Where bootstrap.ign has what the temporary control plane works with (openshift/installer,
 * `pkg/asset/tls`).
 */
const tlsFolder = '/opt/openshift/tls/';

/**
 * The first file of a cluster in which no certificate is valid, with the times of one: what the
 * config server is trusted by, and those of a bootstrap. Undefined where there is none; what cannot
 * be read is left to others.
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
    // An old one beside its successor does no harm.
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
