// The page of a run: turns events of the lab into updates of the product's page.
import { writeFile } from 'node:fs/promises';
import { servePage } from '../../src/adapters/page-server.ts';
import { type Millis, seconds } from '../../src/model/duration.ts';
import { type LivePage, livePage } from '../../src/page/server.ts';
import { ladderOf, railOfStages } from '../../src/page/rail.ts';
import { isVictim } from '../../src/page/service.ts';
import {
  emptyPage,
  type PageUpdate,
  type Rail,
  type RailStep,
  type Tone,
  type Track,
  type Work,
} from '../../src/page/state.ts';
import { followObjects } from '../cluster/changes.ts';
import { type KindName, kinds } from '../cluster/objects.ts';
import { memoryKibibytes } from '../host/live-system.ts';
import type { Strike } from '../http/fault.ts';
import { isInstalled, isMissed, type LabReport, MISSED_NOTES, outcomeWords } from './report.ts';
import type { Scenario } from './scenario.ts';
import { phaseOf, type ShownHost, type ShownRun } from './shown-run.ts';
import { conditionOf } from '../../src/kube/object.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import type { Plan, PlannedStep } from '../../src/engine/describe.ts';
import type { Stage } from '../../src/model/stage.ts';

/** The heading of a page. */
export interface PageHeading {
  readonly title: string;
  readonly about: string;
  /** Usual duration of such a run, if known. */
  readonly usual?: Millis | undefined;
}

/** The heading of the page of a scenario. */
export const headingOf = ({ title, description, usualSeconds }: Scenario): PageHeading => ({
  title,
  about: description,
  usual: usualSeconds === undefined ? undefined : seconds(usualSeconds),
});

/** The end of a run. */
type RunEnd = Pick<
  LabReport,
  'outcome' | 'clusterStatus' | 'operators' | 'isAsExpected' | 'differences'
>;

/** The page of a run of the lab. */
export type LabPage = Awaited<ReturnType<typeof openLabPage>>;

/** Opens the page of a new run, which is served, or saved to a file at the end of the run. */
export async function openLabPage(
  { title, about, usual }: PageHeading,
  { isServed, file }: { readonly isServed: boolean; readonly file: string | undefined },
) {
  const page = livePage({ ...emptyPage(title, about, Date.now()), usual });
  const address = { host: '127.0.0.1', port: 0 };
  const server = isServed ? await servePage(page, address) : undefined;
  const isWanted = isServed || file !== undefined;
  return {
    /** URL of the page; undefined if serving was not requested. */
    url: server?.url,
    update: page.update,
    /** Follows a run; returns a function that stops following. */
    watch: (run: ShownRun): (() => void) => (isWanted ? follow(run, page.update) : () => undefined),
    /** Shows the end of the run, and saves the page. */
    end: async (report: RunEnd): Promise<void> => {
      page.update(endOf(report));
      if (file !== undefined) await writeFile(file, page.saved(Date.now()));
    },
    [Symbol.asyncDispose]: async (): Promise<void> => server?.close(),
  };
}

function endOf(end: RunEnd): PageUpdate {
  const { isAsExpected, differences: details } = end;
  const text = `${outcomeWords(end)}, ${isAsExpected ? '' : 'not '}as expected`;
  const isGood = isAsExpected && isInstalled(end);
  const notes = isMissed(end) ? MISSED_NOTES : [];
  return { kind: 'end', at: Date.now(), isGood, text, details, notes };
}

type Update = LivePage['update'];

const POLL_INTERVAL_MILLIS = 100;

/** Sends the events of a run to a page, until the returned function is called. */
function follow(run: ShownRun, update: Update): () => void {
  const closing = new AbortController();
  const hosts = run.hosts.map((host) => hostFollower(run, host, update));
  const faults = faultFollower(run, update);
  const poll = (): void => {
    for (const host of hosts) host();
    faults();
    const { status, statusInfo: info } = run.lab.inventory.store.cluster();
    update({ kind: 'cluster', at: Date.now(), status, info, logs: run.logs?.ofController });
  };
  update({ kind: 'begin', at: run.startedAt, startedAt: run.startedAt });
  void followRails(run, update);
  followObjectsOf(run, update, closing.signal);
  poll();
  const timer = setInterval(poll, POLL_INTERVAL_MILLIS);
  return () => {
    clearInterval(timer);
    closing.abort(new Error('the run is over'));
    poll();
  };
}

/** Shows each host at once with its stages, and with its plan as soon as that is known. */
async function followRails({ hosts, lab, planOf }: ShownRun, update: Update): Promise<void> {
  const at = Date.now();
  const isSingle = lab.inventory.store.cluster().controlPlaneCount === 1;
  const known = hosts.map(({ hostId: id, plan: { name, role }, machine, hardware }) => {
    const ladder = ladderOf(role, isSingle);
    const what = { name, role, hardware: hardware ?? hardwareOf(machine) };
    const host = { kind: 'host', at, id, ...what } as const;
    update({ ...host, rail: railOfStages(ladder) });
    return { host, ladder };
  });
  for (const { host, ladder } of known) {
    const plan = await planOf?.(host.name).catch(() => undefined);
    if (plan === undefined) continue;
    // The cluster reports the stages after the reboot.
    const later = ladder.slice(ladder.indexOf('Rebooting') + 1);
    update({ ...host, rail: railOfPlan(plan, later) });
  }
}

/** The hardware of a simulated host, in the service's order: model, memory, disks. */
export function hardwareOf(machine: ShownHost['machine']): string {
  if (machine === undefined) return '';
  const disks = machine.devices
    .all()
    .filter(({ type }) => type === 'disk')
    .map(({ name, sizeBytes }) => `${name} ${Math.round(sizeBytes / 1e9)} GB`);
  const memory = `${((memoryKibibytes * 1024) / 1e9).toFixed(1)} GB memory`;
  return ['simulated', memory, ...disks].join(', ');
}

/** Returns a function that sends the news of one host. */
function hostFollower({ lab, logs }: ShownRun, host: ShownHost, update: Update): () => void {
  const { hostId, events } = host;
  let read = 0;
  let phase = '';
  let hasEnded = false;
  return () => {
    const at = Date.now();
    for (const event of events.slice(read)) {
      update({ kind: 'event', at: event.at, host: hostId, event });
    }
    read = events.length;
    const record = lab.inventory.store.host(hostId);
    if (record !== undefined) {
      const { stage } = record;
      const status = isVictim(record) ? 'stopped' : record.status;
      const info = status === 'error' ? record.statusInfo : record.stageInfo;
      update({ kind: 'stage', at, host: hostId, stage, info, status });
    }
    const next = host.outcome === undefined ? (phaseOf(host, lab) ?? '') : phase;
    if (next !== phase) update({ kind: 'phase', at, host: hostId, phase: next });
    phase = next;
    if (host.outcome === undefined || hasEnded) return;
    hasEnded = true;
    update({ kind: 'host-end', at: host.endedAt ?? at, host: hostId, ...endOfHost(host, logs) });
  };
}

function endOfHost(
  { outcome, failure: found }: ShownHost,
  commands: ShownRun['logs'],
): Omit<Extract<PageUpdate, { kind: 'host-end' }>, 'kind' | 'at' | 'host'> {
  if (outcome === 'done') return { isGood: true, text: 'is a node' };
  const { logs } = found ?? {};
  const failure = logs === undefined ? found : { ...found, logs: commands?.ofHost(logs) ?? logs };
  const isStopped = outcome === 'stopped' || outcome === 'rebooted';
  return { isGood: false, isStopped, text: outcome ?? '', failure };
}

/** Returns a function that sends the faults that occurred since its last call. */
function faultFollower({ lab, hosts }: ShownRun, update: Update): () => void {
  const sources: readonly (readonly [where: string, struck: readonly Strike[]])[] = [
    ['inventory service', lab.inventory.faults?.struck ?? []],
    ['object store', lab.objects?.faults.struck ?? []],
    ['cluster', lab.cluster?.struck ?? []],
    ...hosts.map(({ plan, struck = [] }) => [plan.name, struck] as const),
  ];
  const read = new Map<string, number>();
  let asked = 0;
  return () => {
    for (const [where, struck] of sources) {
      for (const { at, what } of struck.slice(read.get(where) ?? 0)) {
        update({ kind: 'fault', at, where, what });
      }
      read.set(where, struck.length);
    }
    const all = lab.layered?.network.asked ?? [];
    for (const { registry, refusal } of all.slice(asked)) {
      if (refusal?.includes('connection reset') !== true) continue;
      update({ kind: 'fault', at: Date.now(), where: registry, what: 'the registry dies' });
    }
    asked = all.length;
  };
}

/** Sends the objects of the cluster once its API server is up. */
function followObjectsOf(
  { lab: { cluster } }: ShownRun,
  update: Update,
  signal: AbortSignal,
): void {
  const client = cluster?.client;
  if (cluster === undefined || client === undefined) return;
  const watched = { kube: { client }, state: cluster.state, signal };
  for (const kind of shownKinds) {
    void followObjects(watched, { kind: kinds[kind] }, ({ type, object }) => {
      if (type === 'BOOKMARK' || type === 'ERROR') return;
      const seen = { kind, name: object.metadata.name, ...stateOf(kind, object) };
      const gone = type === 'DELETED' ? ({ isGone: true } as const) : {};
      update({ kind: 'object', at: Date.now(), object: seen, ...gone });
    });
  }
}

/** Kinds on the page, in the order of its headings. */
export const shownKinds = [
  'Node',
  'ClusterVersion',
  'ClusterOperator',
  'MachineConfigPool',
  'MachineOSConfig',
  'MachineOSBuild',
  'CertificateSigningRequest',
  'MachineConfig',
] as const satisfies readonly KindName[];
export type ShownKind = (typeof shownKinds)[number];

interface Shown {
  readonly state: string;
  readonly tone: Tone;
}

/** The state of an object, for people. */
export function stateOf(kind: ShownKind, object: KubeObject): Shown {
  const { status = {}, spec = {} } = object as {
    readonly status?: Readonly<Record<string, unknown>>;
    readonly spec?: Readonly<Record<string, unknown>>;
  };
  const is = (type: string): boolean => conditionOf(object, type).status === 'True';
  const why = (type: string): string => {
    const { message, reason } = conditionOf(object, type);
    return message || reason;
  };
  return states[kind]({ status, spec, is, why });
}

interface Facts {
  readonly status: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
  /** Whether a condition is True. */
  readonly is: (type: string) => boolean;
  readonly why: (type: string) => string;
}

const good = (state: string): Shown => ({ state, tone: 'good' });
const busy = (state: string): Shown => ({ state, tone: 'busy' });
const waiting = (state: string): Shown => ({ state, tone: 'waiting' });
const bad = (state: string): Shown => ({ state, tone: 'bad' });

const joined = (...texts: readonly string[]): string =>
  texts.filter((text) => text !== '').join(': ');

const states: Readonly<Record<ShownKind, (facts: Facts) => Shown>> = {
  Node: ({ is, why }) => (is('Ready') ? good('Ready') : waiting(joined('NotReady', why('Ready')))),
  ClusterVersion: operatorState,
  ClusterOperator: operatorState,
  MachineConfigPool: ({ is, status, spec }) => {
    const all = Number(status['machineCount'] ?? 0);
    const updated = Number(status['updatedMachineCount'] ?? 0);
    const counts = all === 0 ? 'no machines yet' : `${updated} of ${all} updated`;
    const text = `${counts}${spec['paused'] === true ? ', paused' : ''}`;
    if (is('Degraded')) return bad(joined('Degraded', text));
    return is('Updated') ? good(text) : busy(text);
  },
  MachineOSConfig: ({ status }) =>
    typeof status['currentImagePullSpec'] === 'string'
      ? good('has its image')
      : waiting('no image yet'),
  MachineOSBuild: ({ is, why }) => {
    if (is('Succeeded')) return good('Succeeded');
    if (is('Failed') || is('Interrupted')) return bad(joined('Failed', why('Failed')));
    return is('Building') ? busy('Building') : waiting('Prepared');
  },
  CertificateSigningRequest: ({ is, status }) => {
    if (is('Denied')) return bad('Denied');
    if (!is('Approved')) return waiting('Pending');
    return good(status['certificate'] === undefined ? 'Approved' : 'Issued');
  },
  MachineConfig: () => good('exists'),
};

function operatorState({ is, why }: Facts): Shown {
  if (is('Degraded')) return bad(joined('Degraded', why('Degraded')));
  if (is('Progressing')) return busy(joined('Progressing', why('Progressing')));
  return is('Available') ? good('Available') : waiting(joined('not available', why('Available')));
}

const writes = /^image\/(write|deploy|overwrite)|^layering\/(deploy|overlay)|^registry\/copy$/;
const builds = /^layering\/(build|copy|send|publish)-/;

function workOf({ id, explanation = '' }: PlannedStep): Work {
  if (writes.test(id)) return 'write';
  if (builds.test(id)) return 'build';
  return explanation.includes('waits for') ? 'wait' : 'prepare';
}

const stepOf = (step: PlannedStep): RailStep => ({
  id: step.id,
  title: step.title,
  isActive: step.isActive,
  work: workOf(step),
});

/**
 * The rail of a host with a plan: the plan's steps without background steps, then the stages that
 * the cluster reports.
 */
export function railOfPlan(
  { items, always }: Pick<Plan, 'items' | 'always'>,
  later: readonly Stage[],
): Rail {
  const sections: (readonly Track[])[] = [];
  let line: RailStep[] = [];
  const flush = (): void => {
    if (line.length > 0) sections.push([{ name: '', steps: line }]);
    line = [];
  };
  for (const item of items) {
    if (item.kind === 'step') line.push(stepOf(item.step));
    else {
      flush();
      sections.push(item.lanes.map(({ name, steps }) => ({ name, steps: steps.map(stepOf) })));
    }
  }
  line.push(...always.map(stepOf));
  flush();
  return [...sections, ...railOfStages(later)];
}
