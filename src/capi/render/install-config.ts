import { type ImageMirrors, renderMirrors } from '../../lib/image-mirrors.ts';
import { type Fields, fieldsOf, listOf, textOf, type Value } from '../../layering/api/schema.ts';

/** What an install-config says that Cluster API needs too. */
export interface InstallSettings {
  readonly name: string;
  readonly baseDomain: string;
  readonly masters: number;
  readonly workers: number;
  /** The key below `platform`. */
  readonly platform: string;
  readonly podNetworks: readonly string[];
  readonly serviceNetworks: readonly string[];
  /** Where the API will be. */
  readonly apiHost: string;
  readonly pullSecret: string;
  readonly sshKeys: readonly string[];
  readonly proxy?: Readonly<Record<'httpProxy' | 'httpsProxy' | 'noProxy', string>>;
  readonly trustBundle: string;
  /** A file below /etc/containers/registries.conf.d; empty without mirrors. */
  readonly registries: string;
}

/** Reads an install-config that was checked; what it does not say is as the installer takes it (openshift/installer, `pkg/types/defaults`). */
export function installSettings(config: Fields): InstallSettings {
  const name = textOf(fieldsOf(config['metadata'])['name']);
  const baseDomain = textOf(config['baseDomain']);
  const networking = fieldsOf(config['networking']);
  const [platform = ''] = Object.keys(fieldsOf(config['platform']));
  const settings = fieldsOf(fieldsOf(config['platform'])[platform]);
  const [vip] = listOf(settings['apiVIPs']);
  const proxy = fieldsOf(config['proxy']);
  const proxied = { httpProxy: '', httpsProxy: '', noProxy: '' };
  for (const key of ['httpProxy', 'httpsProxy', 'noProxy'] as const)
    proxied[key] = textOf(proxy[key]);
  const pods = listOf(networking['clusterNetwork']).map((one) => textOf(fieldsOf(one)['cidr']));
  const services = listOf(networking['serviceNetwork']).map(textOf);
  return {
    ...{ name, baseDomain, platform },
    masters: countOf(config['controlPlane']),
    workers: listOf(config['compute']).reduce<number>((sum, pool) => sum + countOf(pool), 0),
    podNetworks: pods.length === 0 ? ['10.128.0.0/14'] : pods,
    serviceNetworks: services.length === 0 ? ['172.30.0.0/16'] : services,
    apiHost: textOf(vip) || textOf(settings['apiVIP']) || `api.${name}.${baseDomain}`,
    pullSecret: textOf(config['pullSecret']),
    sshKeys: textOf(config['sshKey'])
      .split('\n')
      .filter((line) => line.trim() !== ''),
    ...(Object.values(proxied).some((one) => one !== '') ? { proxy: proxied } : {}),
    trustBundle: textOf(config['additionalTrustBundle']),
    registries: renderMirrors(mirrorsOf(config)),
  };
}

const countOf = (pool: Value | undefined): number => {
  const { replicas = 3 } = fieldsOf(pool);
  return typeof replicas === 'number' ? replicas : 3;
};

/** A source may have several entries (openshift/installer, `MergedMirrorSets`); of those in one file podman reads the first. */
const mirrorsOf = (config: Fields): readonly ImageMirrors[] => {
  const entries = listOf(config['imageDigestSources'] ?? config['imageContentSources']);
  const bySource = Map.groupBy(entries.map(fieldsOf), ({ source }) => textOf(source));
  return [...bySource].map(([source, all]) => ({
    source,
    mirrors: [...new Set(all.flatMap(({ mirrors }) => listOf(mirrors).map(textOf)))],
  }));
};
