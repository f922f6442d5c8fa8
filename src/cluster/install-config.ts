import * as z from 'zod';
import { yamlIn } from '../lib/yaml-text.ts';
import type { KubeObject, KubeRef } from '../ports/kube.ts';
import { configMaps } from '../kube/kinds.ts';
import { textAt } from '../kube/object.ts';
import { releaseVersion } from './release.ts';

/** The ConfigMap with the install-config of a cluster, without passwords. */
export const installConfigRef: KubeRef = {
  kind: configMaps,
  namespace: 'kube-system',
  name: 'cluster-config-v1',
};

/** The fields of an install-config that Bootwright reads. */
export interface InstallConfig {
  /** 0 when not set. */
  readonly controlPlaneReplicas: number;
  /** 0 without an arbiter block. */
  readonly arbiterReplicas: number;
  /** `vsphere`, `none`, `baremetal`, …: the key below `platform`. */
  readonly platform?: string | undefined;
  /** Name of the first vCenter. */
  readonly vcenterServer?: string | undefined;
  /** The networks of its machines; undefined where the install-config has none. */
  readonly machines?: MachineNetworks | undefined;
}

/** Networks of the machines of a cluster. */
export interface MachineNetworks {
  /** In CIDR notation: `192.0.2.0/24`. */
  readonly networks: readonly string[];
  /** Addresses in them that move between machines: the VIPs of the API and of ingress. */
  readonly vips: readonly string[];
}

const Pool = z.object({ replicas: z.coerce.number().catch(0) }).catch({ replicas: 0 });

const Vcenters = z
  .object({ vcenters: z.array(z.object({ server: z.string() }).catch({ server: '' })) })
  .catch({ vcenters: [] });

const Shape = z.object({
  controlPlane: Pool,
  arbiter: Pool,
  platform: z.record(z.string(), z.unknown()).catch({}),
  networking: z
    .object({
      machineNetwork: z.array(z.object({ cidr: z.string() })).catch([]),
    })
    .catch({ machineNetwork: [] }),
});

const Vips = z.record(z.string(), z.union([z.string(), z.array(z.string())]).catch([])).catch({});
const vipKeys = ['apiVIP', 'apiVIPs', 'ingressVIP', 'ingressVIPs'];

/**
 * Reads the ConfigMap of `installConfigRef`, or says why it cannot be read, in the same text each
 * time.
 */
export function readInstallConfig(
  configMap: KubeObject | undefined,
): { readonly installConfig: InstallConfig } | { readonly problem: string } {
  const place = `${installConfigRef.namespace ?? ''}/${installConfigRef.name}`;
  if (configMap === undefined) return { problem: `${place} is not in the cluster yet` };
  const text = textAt(configMap, 'data', 'install-config');
  if (text === '') return { problem: `${place} holds no install-config` };
  const shape = Shape.safeParse(yamlIn(text));
  if (!shape.success) return { problem: `the install-config in ${place} cannot be read` };
  const { controlPlane, arbiter, platform, networking } = shape.data;
  const [name] = Object.keys(platform);
  const networks = networking.machineNetwork.map(({ cidr }) => cidr);
  const settings = Vips.parse(platform[name ?? '']);
  const vips = vipKeys.flatMap((key) => settings[key] ?? []);
  const [vcenter] = Vcenters.parse(platform['vsphere']).vcenters;
  return {
    installConfig: {
      controlPlaneReplicas: controlPlane.replicas,
      arbiterReplicas: arbiter.replicas,
      platform: name,
      vcenterServer: vcenter?.server,
      machines: networks.length === 0 ? undefined : { networks, vips },
    },
  };
}

/** The ConfigMap in which the installer records its invoker. */
export const invokerRef: KubeRef = {
  kind: configMaps,
  namespace: 'openshift-config',
  name: 'openshift-install-manifests',
};

/** The invoker of a cluster that the agent-based installer installs. */
export const agentBased = 'agent-installer';

/** The invoker of a cluster without the ConfigMap. */
export const defaultInvoker = 'assisted-service';

/** The invoker of the installation: empty without that key, a default without the ConfigMap. */
export const invokerOf = (configMap: KubeObject | undefined): string =>
  configMap === undefined ? defaultInvoker : textAt(configMap, 'data', 'invoker');

/**
 * The release of the installer that made a cluster, by the same ConfigMap (openshift/installer,
 * `pkg/asset/manifests`); undefined for a build that is not a release, which names none.
 */
export function installerVersion(configMap: unknown): string | undefined {
  const version = textAt(configMap as KubeObject | undefined, 'data', 'version');
  return releaseVersion(version) === undefined ? undefined : version;
}
