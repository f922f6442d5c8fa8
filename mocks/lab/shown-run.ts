import type { HostPhase } from '../cluster/cluster-state.ts';
import { waitText } from '../../src/engine/run-steps.ts';
import { isVictim } from '../../src/page/service.ts';
import type { Plan } from '../../src/engine/describe.ts';
import type { MockServer } from '../http/mock-server.ts';
import type { LayeredSite } from '../layering/plan.ts';
import type { RunningCluster } from '../cluster/run-cluster.ts';
import type { ClusterRecord } from '../inventory/records.ts';
import type { InventoryStore } from '../inventory/store.ts';
import type { LabHost } from './lab-host.ts';
import { operatorText } from './report.ts';
import type { HostSpec } from './scenario.ts';

/** The shown state of a host, simulated or a virtual machine. */
export interface ShownHost
  extends
    Pick<
      LabHost,
      'hostId' | 'events' | 'steps' | 'phase' | 'outcome' | 'failure' | 'boots' | 'endedAt'
    >,
    Partial<Pick<LabHost, 'struck' | 'machine'>> {
  readonly plan: Pick<HostSpec, 'name' | 'role'>;
  /** Memory and disk of a virtual machine. */
  readonly hardware?: string;
}

/** Commands that read the logs of a run, or keep them. */
export interface LogCommands {
  /** The command for an agent's bundle, by its path. */
  readonly ofHost: (bundle: string) => string;
  readonly ofController: string;
}

/** The shown state of a running run. */
export interface ShownRun {
  readonly name: string;
  readonly lab: {
    readonly inventory: { readonly store: InventoryStore } & Partial<Pick<MockServer, 'faults'>>;
    readonly objects?: Pick<MockServer, 'faults'>;
    readonly cluster?:
      | (Pick<RunningCluster, 'state'> & Partial<Pick<RunningCluster, 'client' | 'struck'>>)
      | undefined;
    readonly layered?: Pick<LayeredSite, 'network'> | undefined;
  };
  /** The plan of a host, if more than its role is known. */
  readonly planOf?: ((host: string) => Promise<Plan>) | undefined;
  readonly hosts: readonly ShownHost[];
  /** Place of each node on the day after, by the name of its host. */
  readonly whereabouts?: ReadonlyMap<string, string> | undefined;
  /** Further work beside the hosts. */
  readonly beside?: (() => string) | undefined;
  readonly logs?: LogCommands | undefined;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

/** The printed line of each subject, by its name; a changed line is printed again. */
export function linesOf({
  lab,
  hosts,
  beside,
  whereabouts,
}: ShownRun): readonly (readonly [about: string, line: string])[] {
  const { store } = lab.inventory;
  return [
    ['cluster', clusterLine(store.cluster())],
    ...hosts.flatMap((host) => {
      const { name, role } = host.plan;
      const record = store.host(host.hostId);
      const isOver = record?.status === 'error' || host.outcome === 'failed';
      const stage = isOver
        ? endWord(host, record !== undefined && isVictim(record))
        : (record?.stage ?? '');
      // On the day after, a node may be in another place.
      const doing = whereabouts?.get(name) ?? (isOver ? failureText(host) : doingOf(host));
      // Before the service answers, a host has no stage, and waits all the same.
      const texts = [stage, doing?.replaceAll(/\s+/g, ' ') ?? ''].filter((text) => text !== '');
      return texts.length === 0 ? [] : [[name, `${name} ${role}: ${texts.join(', ')}`] as const];
    }),
    ...(beside === undefined ? [] : [['', beside()] as const]),
  ];
}

/** The cluster at the service, at its end with the operators that it waits for. */
function clusterLine({ status, finalizing, operators }: ClusterRecord): string {
  if (status !== 'finalizing' || finalizing === undefined) return `cluster ${status}`;
  const missing = operators
    .filter((one) => one.status !== 'available')
    .map((one) => [operatorText(one), one.statusInfo].filter((text) => text !== '').join(': '));
  const isWaiting = finalizing.stage === 'Waiting for cluster operators' && missing.length > 0;
  const waits = isWaiting ? `: ${missing.join('; ')}` : '';
  return `cluster finalizing, ${finalizing.stage}${waits}`;
}

/** The end of a host that the service gave up. */
function endWord({ boots }: ShownHost, isVictim: boolean): string {
  if (!isVictim) return 'Failed';
  return boots > 0 ? 'Rebooted into its disk, and the cluster failed' : 'Stopped';
}

const failureText = ({ failure }: ShownHost): string | undefined =>
  failure && `${failure.code}: ${failure.message}`;

/** The failure of a host, or the reason of its wait; undefined without either. */
function doingOf(host: ShownHost): string | undefined {
  const { outcome, steps } = host;
  if (outcome === 'done' || outcome === 'stopped') return undefined;
  if (outcome !== undefined) return failureText(host) ?? outcome;
  const { wait } =
    Object.values(steps).findLast((step) => step.state === 'running' && step.wait) ?? {};
  return wait?.attempt === undefined ? wait?.status : waitText(wait);
}

/** The phase of a host before and after its agent; undefined while the agent runs. */
export function phaseOf(
  { boots, phase, hostId, plan, events }: ShownHost,
  { inventory, cluster }: ShownRun['lab'],
): string | undefined {
  if (boots === 0) return events.length === 0 ? phase : undefined;
  const inCluster = cluster?.state().phases[plan.name];
  if (inCluster !== undefined) return phaseWords[inCluster];
  const stage = inventory.store.host(hostId)?.stage ?? '';
  return ['', 'Rebooting'].includes(stage) ? phase : stage;
}

/** The phases of a host after its reboot, in words. */
const phaseWords: Readonly<Record<HostPhase, string>> = {
  live: 'starts from its disk',
  booting: 'starts from its disk',
  waiting: 'waits for a machine-config-server',
  configuring: 'applies its Ignition',
  unapproved: 'its kubelet waits for a certificate',
  joining: 'its node is not Ready yet',
  ready: 'its node is Ready',
};
