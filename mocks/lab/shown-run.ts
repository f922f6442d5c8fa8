import type { HostPhase } from '../cluster/cluster-state.ts';
import type { Plan } from '../../src/engine/describe.ts';
import type { MockServer } from '../http/mock-server.ts';
import type { LayeredSite, NodeSystem } from '../layering/plan.ts';
import type { RunningCluster } from '../cluster/run-cluster.ts';
import type { InventoryStore } from '../inventory/store.ts';
import type { LabHost } from './lab-host.ts';
import { systemName } from './report.ts';
import type { HostSpec } from './scenario.ts';

/** What is looked at of a host, be it simulated or a virtual machine. */
export interface ShownHost
  extends
    Pick<LabHost, 'hostId' | 'progress' | 'phase' | 'outcome' | 'failure' | 'boots' | 'endedAt'>,
    Pick<LabHost, 'events'>,
    Partial<Pick<LabHost, 'struck' | 'machine'>> {
  readonly plan: Pick<HostSpec, 'name' | 'role'>;
  /** Memory and disk of a virtual machine. */
  readonly hardware?: string;
}

/** What is looked at of a run while it continues. */
export interface ShownRun {
  readonly name: string;
  readonly lab: {
    readonly inventory: { readonly store: InventoryStore } & Partial<Pick<MockServer, 'faults'>>;
    readonly objects?: Pick<MockServer, 'faults'>;
    readonly cluster?:
      | (Pick<RunningCluster, 'state'> & Partial<Pick<RunningCluster, 'client' | 'struck'>>)
      | undefined;
    readonly layered?:
      | ({ readonly systems: ReadonlyMap<string, Pick<NodeSystem, 'image'>> } & Partial<
          Pick<LayeredSite, 'network'>
        >)
      | undefined;
  };
  /** The plan of a host that is known better than by its role alone. */
  readonly planOf?: ((host: string) => Promise<Plan>) | undefined;
  readonly hosts: readonly ShownHost[];
  /** Where each node is on the day after, by the name of its host. */
  readonly whereabouts?: ReadonlyMap<string, string> | undefined;
  /** What continues beside the hosts. */
  readonly beside?: (() => string) | undefined;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

/** What the lab prints of one host. */
interface HostLine {
  readonly host: string;
  readonly role: string;
  readonly stage: string;
  readonly doing: string;
  /** Whether what it does is worth a line: a wait, or a failure. */
  readonly isShown: boolean;
}

/** What the lab prints a line of where it changes. */
export function changesOf({ lab, hosts, beside, whereabouts }: ShownRun): {
  readonly cluster: string;
  readonly rows: readonly HostLine[];
  readonly beside: string | undefined;
} {
  return {
    cluster: lab.inventory.store.cluster().status,
    rows: hosts.map((host) => lineOf(host, lab, whereabouts)),
    beside: beside?.(),
  };
}

function lineOf(
  host: ShownHost,
  lab: ShownRun['lab'],
  whereabouts: ShownRun['whereabouts'],
): HostLine {
  const { plan, progress, outcome } = host;
  const record = lab.inventory.store.host(host.hostId);
  // The day after its installation a node is somewhere else.
  const nextDay = whereabouts?.get(plan.name);
  const doing = [
    doingOf(host, lab.cluster?.state().phases[plan.name]),
    ...runs(lab.layered?.systems.get(plan.name)),
  ].join('; ');
  return {
    host: plan.name,
    role: plan.role,
    stage: record?.status === 'error' ? 'Failed' : (record?.stage ?? ''),
    doing: nextDay ?? doing,
    isShown:
      nextDay !== undefined ||
      (outcome === undefined ? progress.waitingFor !== undefined : outcome !== 'done'),
  };
}

/** Which operating system a host has booted, where that is simulated. */
const runs = (system: Pick<NodeSystem, 'image'> | undefined): readonly string[] =>
  system === undefined ? [] : [`runs ${systemName(system.image)}`];

/** What a host is at before and after its agent; undefined while that is at work. */
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

function doingOf(
  { outcome, failure, progress, boots, phase }: ShownHost,
  inCluster: HostPhase | undefined,
): string {
  if (outcome === 'done') return 'is a node';
  if (outcome !== undefined)
    return failure === undefined ? outcome : `${failure.code}: ${failure.message}`;
  if (boots > 0) return inCluster === undefined ? phase : phaseWords[inCluster];
  const { doing, percent, waitingFor } = progress;
  if (doing === '') return phase;
  if (percent === undefined) return waitingFor ?? doing;
  // One lane writes the disk while the other one waits.
  const written = `${doing}: ${Math.floor(percent)} %`;
  return waitingFor === undefined ? written : `${written}; ${waitingFor}`;
}

/** What a host is at after its reboot, for people. */
const phaseWords: Readonly<Record<HostPhase, string>> = {
  live: 'starts from its disk',
  booting: 'starts from its disk',
  waiting: 'waits for a machine-config-server',
  configuring: 'applies its Ignition',
  unapproved: 'its kubelet waits for a certificate',
  joining: 'its node is not Ready yet',
  ready: 'its node is Ready',
};
