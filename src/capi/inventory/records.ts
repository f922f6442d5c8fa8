import { type OpenShiftControlPlane, sharedConditions } from '../api.ts';
import { failedStageOf } from '../bootstrap/progress.ts';
import { type ConfigView, roleOf } from '../bootstrap/stores.ts';
import { isConditionTrue } from '../conditions.ts';
import { givenName, reportedOf } from '../host-checks.ts';

/** A record as the service shows it. */
type Shown = Readonly<Record<string, unknown>>;

/** Whether workers may have their Ignition: then hosts are added to a cluster that runs. */
export const servesWorkers = (controlPlane: OpenShiftControlPlane | undefined): boolean =>
  controlPlane?.status?.initialization?.controlPlaneInitialized === true &&
  isConditionTrue(controlPlane.status.conditions, sharedConditions.configServerAvailable);

/** A cluster as assisted-service shows it, as far as an agent reads it. */
export function shownCluster(
  { cluster, controlPlane }: Pick<ConfigView, 'cluster' | 'controlPlane'>,
  { isWorker, hosts }: { readonly isWorker: boolean; readonly hosts?: readonly Shown[] },
): Shown {
  const { name, uid = '' } = cluster.metadata;
  const isAdded = isWorker && servesWorkers(controlPlane);
  return {
    ...{ id: uid, kind: isAdded ? 'AddHostsCluster' : 'Cluster', name },
    href: `/api/assisted-install/v2/clusters/${uid}`,
    ...{ status: 'installing', status_info: 'Installation in progress' },
    openshift_version: controlPlane?.spec.distributionVersion ?? '',
    control_plane_count: controlPlane?.spec.replicas ?? 3,
    monitored_operators: [],
    hosts: hosts ?? null,
  };
}

/** The role by which the service lists a host: the bootstrap host is a master. */
export const listedRole = ({ machine }: ConfigView): 'master' | 'worker' =>
  roleOf(machine) === 'worker' ? 'worker' : 'master';

/** A host as assisted-service shows it, as far as an agent reads it. */
export function shownHost(view: ConfigView, withInventory: boolean): Shown {
  const { config, machine, cluster } = view;
  const { progress } = config.status ?? {};
  const { uid = '' } = config.metadata;
  const clusterId = cluster.metadata.uid ?? '';
  return {
    ...{ id: uid, kind: 'Host', infra_env_id: clusterId, cluster_id: clusterId },
    href: `/api/assisted-install/v2/infra-envs/${clusterId}/hosts/${uid}`,
    ...{ requested_hostname: nameOf(view), role: listedRole(view) },
    ...(roleOf(machine) === 'bootstrap' ? { bootstrap: true } : {}),
    ...{ status: statusOf(progress?.stage), status_info: progress?.message ?? '' },
    ...(progress === undefined ? {} : { progress: shownProgress(progress) }),
    ...(withInventory ? { inventory: inventoryOf(view) } : {}),
  };
}

type Progress = NonNullable<NonNullable<ConfigView['config']['status']>['progress']>;

/** A host that failed stays at the stage where it did. */
function shownProgress(progress: Progress): Shown {
  const { stage, percent, message, stageStartedAt, updatedAt } = progress;
  const current = stage === 'Failed' ? failedStageOf(progress) : stage;
  return {
    ...(current === undefined ? {} : { current_stage: current }),
    progress_info: percent === undefined ? message : `${percent}%`,
    ...{ stage_started_at: stageStartedAt, stage_updated_at: updatedAt },
  };
}

function statusOf(stage: string | undefined): string {
  if (stage === undefined) return 'installing';
  if (stage === 'Done') return 'installed';
  return stage === 'Failed' ? 'error' : 'installing-in-progress';
}

/** The name of the node of a host: as its config has it, as its infrastructure names it, or that of its Machine. */
function nameOf({ config, machine }: ConfigView): string {
  return givenName(config) ?? reportedOf(machine).names[0] ?? machine.metadata.name;
}

/** What the discovery agent of the service would have found: name and addresses, from the infrastructure. */
function inventoryOf(view: ConfigView): string {
  const { addresses } = reportedOf(view.machine);
  const of = (isV6: boolean): readonly string[] =>
    addresses.filter((one) => one.includes(':') === isV6).map((one) => `${one}/${isV6 ? 64 : 24}`);
  const eth0 = { name: 'eth0', ipv4_addresses: of(false), ipv6_addresses: of(true) };
  return JSON.stringify({ hostname: nameOf(view), interfaces: [eth0] });
}
