import type { Hono } from 'hono';
import { z } from 'zod';
import { jsonIn } from '../../src/lib/json.ts';
import { stagesV1, stagesV2 } from './rules.ts';
import type { ClusterRecord, HostRecord, OperatorRecord } from './records.ts';
import type { InventoryStore } from './store.ts';

// The two forms of the service's errors. A client has to read both.

/** An error of the service's own code: the code is a word. */
export const domainError = (status: number, reason: string): Response =>
  Response.json({ kind: 'Error', id: status, href: '', code: String(status), reason }, { status });

/** The answer for a cluster that the service does not have. */
export const unknownCluster = (id: string): Response => domainError(404, `cluster ${id} not found`);

/** An error of its framework, before its own code is reached: the code is a number. */
export const frameworkError = (status: number, message: string): Response =>
  Response.json({ code: status, message }, { status });

/** Errors of downloads are JSON with the type of an octet stream. */
export async function asDownloadError(answer: Response): Promise<Response> {
  return new Response(await answer.arrayBuffer(), {
    status: answer.status,
    headers: { 'content-type': 'application/octet-stream' },
  });
}

/** A file download of the service. */
export const download = (name: string, content: string): Response =>
  new Response(content, {
    headers: {
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${name}"`,
      'content-length': String(Buffer.byteLength(content)),
    },
  });

const progressWith = <T extends readonly [string, ...string[]]>(
  stages: T,
): z.ZodObject<{ current_stage: z.ZodEnum; progress_info: z.ZodDefault<z.ZodString> }> =>
  z.strictObject({ current_stage: z.enum(stages), progress_info: z.string().default('') });

/** Body of a progress report to version 2 of the service. */
export const ProgressV2 = progressWith(stagesV2);
/** Body of a progress report to version 1. */
export const ProgressV1 = progressWith(stagesV1);

/** Body of a report about the collection of logs. */
export const LogsProgress = z.strictObject({
  logs_state: z.enum(['requested', 'collecting', 'completed', 'timeout', '']),
});

/** A parsed body, or the answer that refuses it. */
type ReadBody<T> = { readonly value: T } | { readonly refusal: Response };

/** Parses a JSON body as strictly as the service does: unknown properties are refused with 400. */
export async function readJson<T>(request: Request, schema: z.ZodType<T>): Promise<ReadBody<T>> {
  const text = await request.text();
  if (text === '') return { refusal: frameworkError(400, 'body in body is required') };
  const read = schema.safeParse(jsonIn(text));
  if (read.success) return { value: read.data };
  const said = read.error.issues.map(({ path, message }) => `${path.join('.')} in body ${message}`);
  return { refusal: frameworkError(400, `validation failure list:\n${said.join('\n')}`) };
}

/** Whether a word is a UUID; the service refuses all other ids in a path. */
export const isUuid = (word: string): boolean => z.guid().safeParse(word).success;

/** Adds one area of the service's API to an application with a base path. */
export type AddRoutes = (app: Pick<Hono, 'get' | 'put' | 'post'>, store: InventoryStore) => void;

/**
 * A host in a list of the service; empty fields are left out, as by its Go server. A name that no
 * user has given is only in the inventory (assisted-service, `V2ListClusterHosts`, seen on a
 * running service of 2026).
 */
export function listedHost(host: HostRecord, withInventory: boolean): object {
  const { requested_hostname, ...shown } = shownHost(host, withInventory);
  return host.isRenamed ? { ...shown, requested_hostname } : shown;
}

/** A host inside its cluster, with its name. */
export function shownHost(
  host: HostRecord,
  withInventory: boolean,
): Readonly<Record<string, unknown>> {
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
    ...(host.nodeLabels === undefined ? {} : { node_labels: JSON.stringify(host.nodeLabels) }),
    ...(host.pool === undefined ? {} : { machine_config_pool_name: host.pool }),
    validations_info: validations,
    ...(withInventory ? { inventory: host.inventory ?? inventoryOf(host) } : {}),
  };
}

/** The discovery agent's inventory of a host, as the text in the service's database. */
function inventoryOf({ hostname, addresses }: HostRecord): string {
  const withPrefix = (address: string, length: number): string =>
    address.includes('/') ? address : `${address}/${length}`;
  const isV6 = (address: string): boolean => address.includes(':');
  const eth0 = {
    name: 'eth0',
    ipv4_addresses: addresses.filter((one) => !isV6(one)).map((one) => withPrefix(one, 24)),
    ipv6_addresses: addresses.filter((one) => isV6(one)).map((one) => withPrefix(one, 64)),
  };
  return JSON.stringify({ ...hardware, hostname, interfaces: [eth0] });
}

/** An operator in an answer of the service; empty fields are left out. */
export function shownOperator(operator: OperatorRecord): object {
  const { name, type, namespace, subscription, version, status, statusInfo } = operator;
  const shown = {
    name,
    operator_type: type,
    namespace,
    subscription_name: subscription,
    version,
    status,
    status_info: statusInfo,
    timeout_seconds: operator.timeoutSeconds,
  };
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== ''));
}

/** A cluster in an answer of the service. */
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
    status_info: cluster.statusInfo,
    openshift_version: cluster.openshiftVersion,
    platform: { type: cluster.platform },
    ...(cluster.installConfigOverrides === ''
      ? {}
      : { install_config_overrides: cluster.installConfigOverrides }),
    ...(cluster.logsState === '' ? {} : { logs_info: cluster.logsState }),
    progress: {
      ...(cluster.finalizing === undefined
        ? {}
        : {
            finalizing_stage: cluster.finalizing.stage,
            finalizing_stage_started_at: new Date(cluster.finalizing.startedAt).toISOString(),
            finalizing_stage_timed_out: cluster.finalizing.isTimedOut,
          }),
    },
    monitored_operators: cluster.operators.map(shownOperator),
    control_plane_count: cluster.controlPlaneCount,
    hosts: hosts === undefined ? null : hosts.map((host) => shownHost(host, true)),
  };
}

/** The host of a path; it must belong to the path's infra-env, if there is one. */
export function hostAt(
  store: InventoryStore,
  path: { readonly infraEnv?: string; readonly host?: string },
): HostRecord | undefined {
  const host = store.host(path.host ?? '');
  const isThere = path.infraEnv === undefined || path.infraEnv === host?.infraEnvId;
  return isThere ? host : undefined;
}

// The parts that make the record of a host long. A virtual machine with one interface has some 25
// KiB (the answer of a service of 2021, in a published walk through its API), and an agent adds
// `smartctl -x --json=c` of each disk (assisted-service, pull request 727). The names of members
// come from its swagger.

/** A text as long as the JSON of `smartctl`, with quotes that JSON has to escape again. */
const attribute = { id: 5, name: 'Reallocated_Sector_Ct', value: 100, worst: 100, thresh: 16 };
const smart = JSON.stringify(Array(42).fill(attribute));

const disks = ['sda', 'sdb', 'nvme0n1', 'nvme1n1'].map((name) => ({
  id: `/dev/disk/by-id/wwn-${name}`,
  path: `/dev/${name}`,
  drive_type: 'SSD',
  size_bytes: 960_197_124_096,
  installation_eligibility: { eligible: true, not_eligible_reasons: null },
  smart,
}));

/** The findings of a discovery agent on a host, except name and interfaces. */
export const hardware = {
  cpu: { architecture: 'x86_64', count: 64, flags: Array(120).fill('avx512_vpopcntdq') as unknown },
  disks,
  memory: { physical_bytes: 274_877_906_944, usable_bytes: 270_582_939_648 },
};

const check = { id: 'hostname-unique', status: 'success', message: 'is unique; '.repeat(9) };

/** The service's checks of a host, as the text in its database. */
export const validations = JSON.stringify({ hardware: Array(48).fill(check) });
