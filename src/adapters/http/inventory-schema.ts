// The fields of the inventory service's records that the agent reads (assisted-service swagger).
// The schemas ignore all other fields.
import * as z from 'zod';
import { canonicalAddress } from '../../lib/address.ts';
import { jsonIn } from '../../lib/json.ts';
import type {
  ClusterOverview,
  HostOverview,
  InstallingCluster,
  InstallingHost,
  InventoryCluster,
  InventoryHost,
  MonitoredOperator,
  OperatorStatus,
} from '../../ports/inventory.ts';

/** A text that the service may omit, or send as null. */
const text = z.string().nullish();

const ClusterShape = z.object({
  id: z.string(),
  kind: text,
  platform: z.object({ type: text }).nullish(),
  install_config_overrides: text,
});

const clusterOf = ({
  id,
  kind,
  platform,
  install_config_overrides: overrides,
}: z.infer<typeof ClusterShape>): InventoryCluster => ({
  id,
  kind: kind ?? 'Cluster',
  ...(platform?.type ? { platformType: platform.type } : {}),
  ...(overrides ? { installConfigOverrides: overrides } : {}),
});

/** A cluster as the service sends it. */
const WireCluster = ClusterShape.transform(clusterOf);

const HostShape = z.object({
  id: z.string(),
  infra_env_id: text,
  requested_hostname: text,
  role: text,
  bootstrap: z.boolean().nullish(),
  status: text,
  progress: z.object({ current_stage: text }).nullish(),
  inventory: text,
});

function hostOf(host: z.infer<typeof HostShape>): InventoryHost {
  const inventory = inventoryIn(host.inventory ?? '');
  return {
    id: host.id,
    infraEnvId: host.infra_env_id ?? '',
    // The service names a host without a user's name so (`GetHostnameForMsg`).
    name: [host.requested_hostname, inventory.hostname].find(Boolean) ?? '',
    role: host.role ?? '',
    status: host.status ?? '',
    ...(host.progress?.current_stage ? { stage: host.progress.current_stage } : {}),
    addresses: addressesOf(inventory),
  };
}

/** A host as the service sends it; `inventory` is JSON inside a string, and often missing. */
const WireHost = HostShape.transform(hostOf);

/** A list as the service sends it; an empty one may be `null`. */
const listOf = <T>(one: z.ZodType<T>) =>
  z
    .array(one)
    .nullish()
    .transform((list) => list ?? []);

/** The hosts inside a cluster, which were already read one by one. */
const readHosts = <T>() => listOf(z.custom<T>());

const WireClusterHosts = z
  .object({ hosts: readHosts<InventoryHost>() })
  .transform(({ hosts }) => hosts);

/** A host for the controller; its labels are also JSON inside a string. */
const WireInstallingHost = HostShape.extend({
  node_labels: text,
  machine_config_pool_name: text,
}).transform((host): InstallingHost => ({
  ...hostOf(host),
  labels: labelsIn(host.node_labels ?? ''),
  pool: host.machine_config_pool_name ?? '',
}));

const WireFinalizing = z.object({
  finalizing_stage: text,
  finalizing_stage_started_at: text,
  finalizing_stage_timed_out: z.boolean().nullish(),
});

/** Start of the stage; undefined for an unreadable time, or Go's year one. */
function startOf({ finalizing_stage_started_at: time }: z.infer<typeof WireFinalizing>): {
  readonly startedAt?: number;
} {
  const startedAt = Date.parse(time ?? '');
  return startedAt > 0 ? { startedAt } : {};
}

/** A cluster with its hosts, for the controller. */
const WireInstallingCluster = ClusterShape.extend({
  name: text,
  base_dns_domain: text,
  status: z.string(),
  status_info: text,
  progress: WireFinalizing.nullish(),
  hosts: readHosts<InstallingHost>(),
}).transform(
  ({
    name,
    base_dns_domain,
    status,
    status_info,
    progress,
    hosts,
    ...cluster
  }): InstallingCluster => {
    const stage = progress?.finalizing_stage;
    const isTimedOut = progress?.finalizing_stage_timed_out === true;
    return {
      ...clusterOf(cluster),
      name: name ?? '',
      baseDomain: base_dns_domain ?? '',
      status,
      ...(status_info ? { statusInfo: status_info } : {}),
      ...(stage ? { finalizing: { stage, isTimedOut, ...startOf(progress) } } : {}),
      hosts: hosts.filter((host) => host.status !== 'disabled'),
    };
  },
);

const operatorStatuses = ['available', 'progressing', 'failed'] as const satisfies OperatorStatus[];

/** An operator as the service sends it. */
const WireOperator = z
  .object({
    name: z.string(),
    operator_type: text,
    namespace: text,
    subscription_name: text,
    version: text,
    // An unknown status of a newer service counts as no status.
    status: z
      .enum(['', ...operatorStatuses])
      .nullish()
      .catch(''),
    status_info: text,
  })
  .transform((operator): MonitoredOperator => ({
    name: operator.name,
    type: operator.operator_type ?? '',
    namespace: operator.namespace ?? '',
    subscription: operator.subscription_name ?? '',
    version: operator.version ?? '',
    status: operator.status ?? '',
    statusInfo: operator.status_info ?? '',
  }));

/** Operators as the service sends them; an empty list may be `null`. */
const WireOperators = listOf(WireOperator);

/** A time in milliseconds; undefined for the zero time of Go or of the service (2000). */
function timeIn(time: string | null | undefined): { readonly at?: number } {
  const at = Date.parse(time ?? '');
  return at > Date.UTC(2001) ? { at } : {};
}

/** A host for a page. */
const WireWatchedHost = HostShape.extend({
  status_info: text,
  installation_disk_path: text,
  logs_collected_at: text,
  progress: z
    .object({ current_stage: text, progress_info: text, stage_started_at: text })
    .nullish(),
}).transform((host): HostOverview => ({
  ...hostOf(host),
  isBootstrap: host.bootstrap === true,
  statusInfo: host.status_info ?? '',
  stageInfo: host.progress?.progress_info ?? '',
  stageSince: timeIn(host.progress?.stage_started_at).at,
  hardware: hardwareOf(inventoryIn(host.inventory ?? ''), host.installation_disk_path ?? ''),
  hasLogs: timeIn(host.logs_collected_at).at !== undefined,
}));

/** A cluster with its hosts and operators, for a page. */
const WireWatchedCluster = z
  .object({
    id: text,
    name: text,
    status: z.string(),
    status_info: text,
    openshift_version: text,
    control_plane_count: z.number().nullish(),
    high_availability_mode: text,
    install_started_at: text,
    install_completed_at: text,
    progress: WireFinalizing.nullish(),
    monitored_operators: WireOperators,
    hosts: readHosts<HostOverview>(),
  })
  .transform((cluster): ClusterOverview => ({
    id: cluster.id ?? '',
    name: cluster.name ?? '',
    status: cluster.status,
    statusInfo: cluster.status_info ?? '',
    version: cluster.openshift_version ?? '',
    isSingleNode: cluster.control_plane_count === 1 || cluster.high_availability_mode === 'None',
    finalizing: cluster.progress?.finalizing_stage ?? '',
    startedAt: timeIn(cluster.install_started_at).at,
    completedAt: timeIn(cluster.install_completed_at).at,
    operators: cluster.monitored_operators,
    hosts: cluster.hosts.filter(({ status }) => status !== 'disabled'),
  }));

/** The service's answers by the name of their schema. */
export interface Records {
  readonly cluster: InventoryCluster;
  readonly hosts: readonly InventoryHost[];
  readonly clusterHosts: readonly InventoryHost[];
  readonly installingCluster: InstallingCluster;
  readonly operators: readonly MonitoredOperator[];
  readonly clusterOverview: ClusterOverview;
}

/** The schema of an answer. */
export interface RecordShape<T> {
  readonly whole: z.ZodType<T>;
  /** Schema of each element of its list `hosts`; `whole` then has `readHosts`. */
  readonly host?: z.ZodType;
  /** The answer itself is that list. */
  readonly isList?: boolean;
}

/** The schemas of all answers. */
export const recordShapes: { readonly [Name in keyof Records]: RecordShape<Records[Name]> } = {
  cluster: { whole: WireCluster },
  hosts: { whole: WireClusterHosts, host: WireHost, isList: true },
  clusterHosts: { whole: WireClusterHosts, host: WireHost },
  installingCluster: { whole: WireInstallingCluster, host: WireInstallingHost },
  operators: { whole: WireOperators },
  clusterOverview: { whole: WireWatchedCluster, host: WireWatchedHost },
};

const HostInventory = z.object({
  hostname: z.string().nullish(),
  system_vendor: z.object({ manufacturer: text, product_name: text }).nullish().catch(undefined),
  memory: z.object({ physical_bytes: z.number().nullish() }).nullish().catch(undefined),
  disks: z
    .array(z.object({ name: text, path: text, by_id: text, size_bytes: z.number().nullish() }))
    .nullish()
    .catch(undefined),
  interfaces: z
    .array(
      z.object({
        ipv4_addresses: z.array(z.string()).nullish(),
        ipv6_addresses: z.array(z.string()).nullish(),
      }),
    )
    .nullish(),
});

/** An inventory; empty if it cannot be read. (The replaced agent fails the whole call then.) */
const inventoryIn = (text: string): z.infer<typeof HostInventory> =>
  HostInventory.safeParse(jsonIn(text)).data ?? {};

/** The hardware of a machine: its model, its memory, and its install disk. */
function hardwareOf(
  { system_vendor: vendor, memory, disks }: z.infer<typeof HostInventory>,
  diskPath: string,
): string {
  const disk = disks?.find(
    ({ path, by_id: id }) => diskPath !== '' && (path === diskPath || id === diskPath),
  );
  const bytes = memory?.physical_bytes ?? 0;
  return [
    [vendor?.manufacturer, vendor?.product_name].filter(Boolean).join(' '),
    bytes > 0 ? `${Math.round(bytes / 2 ** 30)} GiB memory` : '',
    disk?.size_bytes ? `${disk.name ?? diskPath} ${Math.round(disk.size_bytes / 1e9)} GB` : '',
  ]
    .filter((part) => part !== '')
    .join(', ');
}

const Labels = z.record(z.string(), z.string());

/** Labels of a node; empty if they cannot be read. */
const labelsIn = (text: string): Readonly<Record<string, string>> =>
  Labels.safeParse(jsonIn(text)).data ?? {};

/** Addresses in canonical form; on each interface, IPv4 comes first. */
function addressesOf({ interfaces }: z.infer<typeof HostInventory>): readonly string[] {
  return (interfaces ?? [])
    .flatMap(({ ipv4_addresses: v4, ipv6_addresses: v6 }) => [...(v4 ?? []), ...(v6 ?? [])])
    .map((address) => inventoryAddress(address))
    .filter((address) => address !== undefined);
}

/**
 * An address of the inventory service, with or without a prefix length, in canonical form.
 * Undefined for an invalid address, and for one with a zone, which other machines cannot use.
 */
export function inventoryAddress(text: string): string | undefined {
  const [bare = '', length] = text.split('/');
  if (length !== undefined && !/^\d{1,3}$/.test(length)) return undefined;
  return bare.includes('%') ? undefined : canonicalAddress(bare);
}
