import type { HostPhase } from '../cluster/cluster-state.ts';
import type { Plan } from '../../src/engine/describe.ts';
import type { MockServer } from '../http/mock-server.ts';
import type { LayeredSite, NodeSystem } from '../layering/plan.ts';
import type { RunningCluster } from '../cluster/run-cluster.ts';
import { ladderOf, percentOf } from '../inventory/ladders.ts';
import type { InventoryStore } from '../inventory/store.ts';
import type { LabHost } from './lab-host.ts';
import { systemName } from './report.ts';
import type { HostSpec } from './scenario.ts';
import type { Row, Table, Tone } from './table.ts';

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

/** Looks at a run as it is now. */
export function tableOf(run: ShownRun, now: number): Table {
  const { name, lab, hosts, beside, startedAt, whereabouts } = run;
  const { cluster } = lab.inventory.store;
  return {
    title: name,
    cluster: cluster().status,
    seconds: (now - startedAt) / 1000,
    rows: hosts.map((host) => rowOf(host, { lab, startedAt, now, whereabouts })),
    beside: beside?.(),
  };
}

/** What was shown of each host: no view of a host falls behind another one. */
const shownPercents = new WeakMap<ShownHost, number>();

function risingPercent(host: ShownHost, percent: number): number {
  const rising = Math.max(percent, shownPercents.get(host) ?? 0);
  shownPercents.set(host, rising);
  return rising;
}

interface Moment extends Pick<ShownRun, 'lab' | 'startedAt' | 'whereabouts'> {
  readonly now: number;
}

function rowOf(host: ShownHost, moment: Moment): Row {
  const { lab, startedAt, now } = moment;
  const { plan, progress, outcome } = host;
  const record = lab.inventory.store.host(host.hostId);
  const stage = record?.stage ?? '';
  const row: Row = {
    host: plan.name,
    role: plan.role,
    stage: record?.status === 'error' ? 'Failed' : stage,
    percent: risingPercent(host, percentAt(host, stage, lab.inventory.store)),
    doing: [
      doingOf(host, lab.cluster?.state().phases[plan.name]),
      ...runs(lab.layered?.systems.get(plan.name)),
    ].join('; '),
    seconds: ((host.endedAt ?? now) - startedAt) / 1000,
    left: isAtWork(host) ? progress.remaining : undefined,
    tone: toneOf(outcome, progress.waitingFor),
  };
  return onDayAfter(row, moment);
}

/** The day after its installation a node is somewhere else. */
function onDayAfter(row: Row, { startedAt, now, whereabouts }: Moment): Row {
  const doing = whereabouts?.get(row.host);
  if (doing === undefined) return row;
  return { ...row, doing, tone: 'busy', seconds: (now - startedAt) / 1000 };
}

/** Whether its agent runs, as far as is known. */
const isAtWork = ({ boots, outcome }: ShownHost): boolean => boots === 0 && outcome === undefined;

/** How far a host is: the stages below its own, and of that as much as its step says. */
function percentAt(
  { plan: { role }, progress, boots }: ShownHost,
  stage: string,
  store: InventoryStore,
): number {
  const isSingleNode = store.cluster().controlPlaneCount === 1;
  const isBootstrap = role === 'bootstrap';
  const ladder = ladderOf({ role, isBootstrap, isSingleNode, api: 'v2' });
  const below = stage === '' ? 0 : percentOf(ladder, stage);
  const part = boots === 0 ? (progress.percent ?? 0) / ladder.length : 0;
  return Math.min(100, Math.floor(below + part));
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

function toneOf(outcome: LabHost['outcome'], waitingFor: string | undefined): Tone {
  if (outcome === 'done') return 'good';
  if (outcome !== undefined) return 'bad';
  return waitingFor === undefined ? 'plain' : 'busy';
}
