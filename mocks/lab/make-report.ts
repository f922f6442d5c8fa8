import { join } from 'node:path';
import type { RunEvent } from '../../src/engine/events.ts';
import { isVictim } from '../../src/page/service.ts';
import { gatheredText } from '../cluster/controller-pod.ts';
import { finalOf } from '../cluster/layering/verify.ts';
import { builtPools, type LayeredSite, releaseOs } from '../layering/plan.ts';
import type { InventoryStore } from '../inventory/store.ts';
import type { Lab, LabHost } from './lab-host.ts';
import { type HostReport, type LabReport, type LayeringReport, RELEASE_OS } from './report.ts';
import { hasCluster, type HostExpectation, type Scenario } from './scenario.ts';
import type { ShownHost } from './shown-run.ts';

/** The report of one simulated host. */
export function reportHost(lab: Lab, host: LabHost, startedAt: number): HostReport {
  const { plan, machine, agentStarts, secondAgent } = host;
  return {
    ...reportOfHost(host, lab.inventory.store, startedAt),
    system: systemOf(lab, plan.name),
    agentStarts,
    writes: machine.ran.filter(
      ({ argv }) => argv[0] === 'coreos-installer' && argv[1] === 'install',
    ).length,
    unknownCommands: [...machine.unknown],
    log: join(host.folder, `agent-${agentStarts}.log`),
    secondAgent,
  };
}

/** The report of any host, from its events and the service. */
export function reportOfHost(
  { plan, hostId, outcome = 'unfinished', boots, endedAt, events, failure }: ShownHost,
  store: Pick<InventoryStore, 'host'>,
  startedAt: number,
): HostReport {
  const end = endedAt ?? Date.now();
  const record = store.host(hostId);
  const isOverdue = failure === undefined && record?.status === 'error' && !isVictim(record);
  const left = events.findLast(({ type }) => type === 'run.finished');
  const count = (type: RunEvent['type'], step?: string): number =>
    events.filter((event) => event.type === type && (!('step' in event) || event.step === step))
      .length;
  return {
    name: plan.name,
    role: plan.role,
    outcome,
    stage: record?.stage ?? '',
    boots,
    agentStarts: count('run.started'),
    seconds:
      Math.round(((outcome === 'rebooted' ? (left?.at ?? end) : end) - startedAt) / 10) / 100,
    writes: count('step.finished', 'image/write'),
    unknownCommands: [],
    failure,
    overdue: isOverdue ? record.statusInfo : undefined,
    wait: isOverdue ? openWaitIn(events) : undefined,
  };
}

/** The last wait in events, if no event ends it. */
function openWaitIn(events: readonly RunEvent[]): string | undefined {
  const last = events.findLast(({ type }) => type === 'wait.updated' || type === 'wait.finished');
  return last?.type === 'wait.updated' ? `${last.sentence}: ${last.status}` : undefined;
}

/**
 * The system that a host runs; undefined if no operating systems are built, or before the host has
 * booted from its disk.
 */
function systemOf({ layered }: Lab, host: string): string | undefined {
  const image = layered?.systems.get(host)?.image;
  return image === releaseOs ? RELEASE_OS : image;
}

/** The report of the built images. */
export const reportLayering = (layered: LayeredSite): LayeringReport => ({
  images: builtPools
    .map((pool) => ({ pool, image: finalOf(layered, pool) }))
    .filter(({ image }) => image !== ''),
});

/**
 * Differences between the cluster's end at the service and the expected one; empty if no controller
 * completes it.
 */
export function endDifferences({
  scenario,
  inventory,
  cluster: running,
}: Pick<Lab, 'scenario' | 'inventory' | 'cluster'>): readonly string[] {
  const { expect, cluster } = scenario;
  if (!hasCluster(scenario) || cluster.invoker === 'agent-installer') return [];
  const expected =
    expect.clusterStatus ?? (expect.outcome === 'installed' ? 'installed' : undefined);
  if (expected === undefined) return [];
  const { store } = inventory;
  const { status, logsState } = store.cluster();
  const service = serviceLines(store);
  const log = running?.podLogs() ?? '';
  return [
    ...different('the cluster at the service', status, expected),
    ...different("the controller's logs at the service", logsState, 'completed'),
    ...(store.controllerLogs().length > 0 ? [] : ['the service has no logs of the controller']),
    ...missingIn(service, expect.service).map((what) => `the service does not have: ${what}`),
    ...missingIn(log, expect.controllerLog).map((what) => `the controller never said: ${what}`),
  ];
}

const missingIn = (text: string, patterns: readonly string[]): readonly string[] =>
  patterns.filter((pattern) => !new RegExp(pattern, 'm').test(text));

/**
 * The service's state of a cluster: a line each for its status, its operators, the controllers'
 * reports of the end, and uploads.
 */
export function serviceLines(
  store: Pick<InventoryStore, 'cluster' | 'completions' | 'controllerLogs'>,
): string {
  const { status, statusInfo, finalizing, operators } = store.cluster();
  const isGathered = store
    .controllerLogs()
    .some(({ bytes }) => Buffer.from(bytes).toString() === gatheredText);
  return [
    `cluster ${status}: ${statusInfo}`,
    `stage ${finalizing?.stage ?? 'none'}`,
    ...operators.map((one) => `operator ${one.name} ${one.status}: ${one.statusInfo}`),
    ...store.completions().map((one) => `completion ${String(one.isSuccess)}: ${one.error}`),
    ...(isGathered ? ['must-gather'] : []),
  ].join('\n');
}

/** The end of a run. */
interface ActualRun {
  readonly outcome: LabReport['outcome'];
  readonly hosts: readonly HostReport[];
}

/** Differences between a run and its scenario's expectations; empty if there are none. */
export function differencesOf(
  { expect }: Scenario,
  { outcome, hosts }: ActualRun,
  complaints: readonly string[] = [],
): readonly string[] {
  return [
    ...different('the run', outcome, expect.outcome),
    ...hosts.flatMap((host) => [
      ...hostDifferences(host, expect.hosts[host.name] ?? { outcome: usual(expect.outcome, host) }),
      ...host.unknownCommands.map((argv) => `${host.name}: the lab does not know: ${argv}`),
    ]),
    ...complaints.map((what) => `the cluster: ${what}`),
  ];
}

/** Faults that did not occur: a scenario with them has shown nothing. */
export const spared = (hosts: readonly Pick<LabHost, 'plan' | 'faults'>[]): readonly string[] =>
  hosts.flatMap(({ plan: { name }, faults }) =>
    faults.map(
      ({ kind, after, during }) =>
        `${name}: never struck: ${kind} ${after === undefined ? `during ${during ?? ''}` : `after ${after}`}`,
    ),
  );

/** Expected statuses of waits that the hosts did not report. */
export function unsaid(
  { expect }: Scenario,
  hosts: readonly Pick<LabHost, 'plan' | 'events'>[],
): readonly string[] {
  return hosts.flatMap(({ plan: { name }, events }) => {
    const said = events.flatMap((event) => (event.type === 'wait.updated' ? [event.status] : []));
    return (expect.hosts[name]?.statuses ?? [])
      .filter((pattern) => !said.some((status) => new RegExp(pattern).test(status)))
      .map((pattern) => `${name} never said while it waited: ${pattern}`);
  });
}

/** Of an installation that fails, the hosts that have not left before are stopped. */
function usual(expected: 'installed' | 'failed', host: HostReport): HostExpectation['outcome'] {
  if (expected === 'installed') return 'done';
  return host.outcome === 'rebooted' ? 'rebooted' : 'stopped';
}

/** Checks only the facts that a host's expectation names. */
function hostDifferences(host: HostReport, expected: HostExpectation): readonly string[] {
  const compared = {
    failure: [host.failure?.code, expected.failure],
    boots: [host.boots, expected.boots],
    'agent starts': [host.agentStarts, expected.agentStarts],
    system: [systemWord(host.system), expected.system],
    writes: [host.writes, expected.writes],
    'second agent': [host.secondAgent?.code, expected.secondAgent],
  } as const;
  return [
    ...different(host.name, host.outcome, expected.outcome),
    ...Object.entries(compared).flatMap(([what, [is, wanted]]) =>
      wanted === undefined ? [] : different(`${host.name}: ${what}`, is, wanted),
    ),
  ];
}

const systemWord = (system: string | undefined): string | undefined =>
  system === undefined || system === RELEASE_OS ? system : 'built';

function different(
  what: string,
  actual: string | number | undefined,
  expected: string | number | undefined,
): readonly string[] {
  if (actual === expected) return [];
  return [`${what}: ${actual ?? 'none'} instead of ${expected ?? 'none'}`];
}
