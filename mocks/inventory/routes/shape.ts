import type { Hono } from 'hono';
import type { ClusterRecord, HostRecord } from '../records.ts';
import type { InventoryStore } from '../store.ts';

/** Adds one area of the service's interface to an application whose base path is set. */
export type AddRoutes = (app: Pick<Hono, 'get' | 'put' | 'post'>, store: InventoryStore) => void;

/** A host as the service shows it; empty fields are left out, as its Go server does. */
export function shownHost(host: HostRecord, withInventory: boolean): object {
  return {
    id: host.id,
    href: `/api/assisted-install/v2/infra-envs/${host.infraEnvId}/hosts/${host.id}`,
    kind: 'Host',
    infra_env_id: host.infraEnvId,
    cluster_id: host.clusterId,
    requested_hostname: host.hostname,
    role: host.role,
    ...(host.isBootstrap ? { bootstrap: true } : {}),
    status: host.status,
    status_info: host.statusInfo,
    ...(host.logsState === '' ? {} : { logs_info: host.logsState }),
    progress: {
      current_stage: host.stage,
      ...(host.stageInfo === '' ? {} : { progress_info: host.stageInfo }),
      stage_started_at: new Date(host.stageStartedAt).toISOString(),
      stage_updated_at: new Date(host.stageUpdatedAt).toISOString(),
    },
    ...(withInventory ? { inventory: host.inventory ?? inventoryOf(host) } : {}),
  };
}

/** What the discovery agent has found on a host, as the text that the service keeps. */
function inventoryOf({ hostname, addresses }: HostRecord): string {
  const withPrefix = (address: string, length: number): string =>
    address.includes('/') ? address : `${address}/${length}`;
  const isV6 = (address: string): boolean => address.includes(':');
  const eth0 = {
    name: 'eth0',
    ipv4_addresses: addresses.filter((one) => !isV6(one)).map((one) => withPrefix(one, 24)),
    ipv6_addresses: addresses.filter((one) => isV6(one)).map((one) => withPrefix(one, 64)),
  };
  return JSON.stringify({ hostname, interfaces: [eth0] });
}

/** A cluster as the service shows it. */
export function shownCluster(
  cluster: ClusterRecord,
  hosts: readonly HostRecord[] | undefined,
): object {
  return {
    id: cluster.id,
    href: `/api/assisted-install/v2/clusters/${cluster.id}`,
    kind: cluster.kind,
    name: cluster.name,
    base_dns_domain: cluster.baseDomain,
    status: cluster.status,
    openshift_version: cluster.openshiftVersion,
    platform: { type: cluster.platform },
    ...(cluster.installConfigOverrides === ''
      ? {}
      : { install_config_overrides: cluster.installConfigOverrides }),
    ...(cluster.logsState === '' ? {} : { logs_info: cluster.logsState }),
    control_plane_count: cluster.controlPlaneCount,
    hosts: hosts === undefined ? null : hosts.map((host) => shownHost(host, true)),
  };
}
