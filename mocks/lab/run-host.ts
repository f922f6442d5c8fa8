// Runs one host from its live system to its place in the cluster.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunEvent } from '../../src/engine/events.ts';
import { stepsAfter } from '../../src/engine/run-steps.ts';
import { reportAfterReboot } from '../cluster/no-cluster.ts';
import type { NodeKind } from '../cluster/cluster-state.ts';
import { decideBoot } from '../host/installed-system.ts';
import { restartLiveSystem } from '../host/live-system.ts';
import {
  type AgentEnd,
  type AgentProcess,
  failureIn,
  followEvents,
  installArguments,
  settingVariable,
  startAgent,
} from './agent.ts';
import { failedBy, type Lab, type LabHost } from './lab-host.ts';
import type { HostOutcome } from './report.ts';
import type { HostFault } from './scenario.ts';

/** Runs one host to its end and records the outcome in it. Never rejects. */
export async function runHost(lab: Lab, host: LabHost): Promise<void> {
  try {
    await untilItsTurn(lab, host);
    host.outcome = await runToEnd(lab, host);
  } catch (error) {
    host.outcome = lab.signal.aborted ? 'unfinished' : 'failed';
    host.failure ??= lab.signal.aborted
      ? undefined
      : { code: 'lab', message: error instanceof Error ? error.message : String(error) };
  }
  // A failed agent packs its logs after its report, and the service stops other hosts meanwhile.
  const failed = host.events.findLast(({ type }) => type === 'run.failed');
  host.endedAt = (host.outcome === 'failed' ? failed?.at : undefined) ?? Date.now();
}

async function untilItsTurn({ inventory, signal }: Lab, { plan }: LabHost): Promise<void> {
  await sleep(plan.startsAfterSeconds * 1000, undefined, { signal });
  const hasJoined = (): boolean =>
    inventory.store
      .hosts()
      .some(({ hostname, stage }) => hostname === plan.startsAfterHost && isJoined(stage));
  while (plan.startsAfterHost !== undefined && !hasJoined())
    await sleep(POLL_INTERVAL_MILLIS, undefined, { signal });
}

const isJoined = (stage: string): boolean => stage === 'Joined' || stage === 'Done';

async function runToEnd(lab: Lab, host: LabHost): Promise<HostOutcome> {
  const end = await runUntilItEnds(lab, host);
  if (end.wasStopped) {
    if (lab.signal.aborted) return 'unfinished';
    return hasLeft(host) ? reboot(lab, host) : 'stopped';
  }
  const leavesByItself = host.machine.reboot !== undefined;
  const leavesByIronic = !host.machine.units.isActive('agent.service');
  if (end.exitCode !== 0 || !(leavesByItself || leavesByIronic)) {
    const log = join(host.folder, `agent-${host.agentStarts}.log`);
    const said = failureIn(await readFile(log, 'utf8'), end);
    const logs = said.logs && join(host.folder, 'root', said.logs);
    host.failure = { ...said, ...failedBy(host), ...(logs === undefined ? {} : { logs }) };
    return 'failed';
  }
  return reboot(lab, host);
}

/** Whether an agent has ordered the reboot of its host, which a stop of the agent does not undo. */
const hasLeft = ({ events, machine }: LabHost): boolean =>
  machine.reboot !== undefined &&
  events.findLast(({ type }) => type.startsWith('run.'))?.type === 'run.finished';

async function runUntilItEnds(
  lab: Lab,
  host: LabHost,
): Promise<AgentEnd & { readonly wasStopped: boolean }> {
  const second: Promise<void>[] = [];
  const due: HostFault[] = [];
  for (;;) {
    let interruption: Interruption | undefined;
    host.agentStarts += 1;
    const end = await runAgent(lab, host, {
      name: `agent-${host.agentStarts}`,
      onEvent: (event, agent) => {
        host.events.push(event);
        host.steps = stepsAfter(host.steps, event);
        due.push(...takeFaults(host.faults, event));
        // Events of a killed agent must not trigger another kill.
        const fault = interruption === undefined ? due.shift() : undefined;
        if (fault === undefined) return;
        host.struck.push({ at: Date.now(), what: strikeText(fault) });
        if (fault.kind === 'second-agent') second.push(runSecondAgent(lab, host));
        else {
          interruption = fault.kind;
          interrupt(host, agent);
        }
      },
    });
    await Promise.all(second);
    if (interruption === undefined) return end;
    recover(host, interruption);
  }
}

/**
 * Takes the fault of a host that an event triggers, if there is one. If an agent is killed between
 * the journal's line and the event, its next run reports that step as reused.
 */
function takeFaults(faults: HostFault[], event: RunEvent): readonly HostFault[] {
  const isEnd = event.type === 'step.finished' || event.type === 'step.reused';
  if (!isEnd && event.type !== 'wait.updated') return [];
  const at = faults.findIndex((fault) => fault[isEnd ? 'after' : 'during'] === event.step);
  return at === -1 ? [] : faults.splice(at, 1);
}

const strikeText = ({ kind, after, during }: HostFault): string =>
  after === undefined ? `${kind} during ${during ?? ''}` : `${kind} after ${after}`;

async function reboot(lab: Lab, host: LabHost): Promise<HostOutcome> {
  const { machine, server, hostId, plan } = host;
  server.powerOff();
  const boot = decideBoot(machine);
  if (boot.kind === 'live') {
    host.failure = { code: 'lab.boots-live', message: boot.because };
    return 'live';
  }
  host.boots += 1;
  host.phase = `starts from ${boot.disk}`;
  const { store } = lab.inventory;
  if (lab.cluster === undefined) {
    const cluster = { hostId, kind: nodeKind(lab, plan.role), pace: lab.scenario.pace };
    await reportAfterReboot(store, cluster, lab.signal);
  } else {
    const { invoker } = lab.scenario.cluster;
    if (plan.role === 'bootstrap' && invoker === 'agent-installer') await lab.inventory.close();
    lab.cluster.emit({ kind: 'rebooted', host: plan.name });
    await untilSettled(lab, host);
  }
  return store.host(hostId)?.stage === 'Done' || isNodeUnseen(lab, host) ? 'done' : 'rebooted';
}

function nodeKind({ scenario }: Lab, role: string): NodeKind {
  if (role === 'worker') return 'worker';
  return scenario.cluster.controlPlaneCount === 1 ? 'single-node' : 'control-plane';
}

const POLL_INTERVAL_MILLIS = 50;

/** Whether the node of a host is Ready while no service remains that could learn it. */
const isNodeUnseen = ({ cluster }: Lab, { plan }: LabHost): boolean =>
  cluster?.hasServiceLeft() === true && cluster.state().phases[plan.name] === 'ready';

/** Waits until the controller has reported the end of a host, or the service gave it up. */
async function untilSettled(lab: Lab, host: LabHost): Promise<void> {
  const isOpen = (): boolean => {
    const known = lab.inventory.store.host(host.hostId);
    return known !== undefined && known.stage !== 'Done' && known.status !== 'error';
  };
  while (isOpen() && !isNodeUnseen(lab, host)) {
    await sleep(POLL_INTERVAL_MILLIS, undefined, { signal: lab.signal });
  }
}

// One run of an agent on one host, to its end.

/** Identifies one agent among those of a host. */
interface AgentRun {
  readonly name: string;
  readonly onEvent: (event: RunEvent, agent: AgentProcess) => void;
}

const SERVICE_POLL_MILLIS = 200;

/** Runs an agent with the service's command; the service may withdraw the installation. */
async function runAgent(
  lab: Lab,
  host: LabHost,
  { name, onEvent }: AgentRun,
): Promise<AgentEnd & { readonly wasStopped: boolean }> {
  const events = join(host.folder, `${name}.events.jsonl`);
  const agent = startAgent({
    enter: lab.site.network?.enter ?? [],
    bundle: lab.bundle,
    args: argumentsOf(lab, host),
    env: environmentOf(lab, host, events),
    logFile: join(host.folder, `${name}.log`),
  });
  const follower = followEvents(events, (event) => {
    onEvent(event, agent);
  });
  let wasStopped = false;
  const stop = (): void => {
    wasStopped = true;
    agent.stop();
  };
  const watch = setInterval(() => {
    // The service checks by itself; a host that asks it first would end by the answer.
    lab.inventory.store.checkStages();
    if (isTaken(lab, host)) stop();
  }, SERVICE_POLL_MILLIS);
  lab.signal.addEventListener('abort', stop);
  try {
    const end = await agent.ended;
    follower.end();
    return { ...end, wasStopped };
  } finally {
    clearInterval(watch);
    lab.signal.removeEventListener('abort', stop);
  }
}

/** The next-step agent stops the container after the service has given the host up. */
function isTaken({ inventory }: Lab, { hostId }: LabHost): boolean {
  const host = inventory.store.host(hostId);
  if (host === undefined || host.statusInfo.startsWith('Failed')) return false;
  return host.status === 'error' || host.status === 'cancelled';
}

/** The arguments of a host's agent, from the service or its Ignition. */
export function argumentsOf(lab: Lab, host: LabHost): readonly string[] {
  const { plan, hostId, infraEnvId } = host;
  if (host.command !== undefined) return host.command;
  const { site, inventory } = lab;
  const command = installArguments({
    host: plan,
    hostId,
    infraEnvId,
    cluster: lab.inventory.store.cluster(),
    serviceUrl: site.addressOf(inventory.url, 'service'),
    bootDevice: plan.bootDevice ?? firstDisk(host),
    skipsMcoReboot: lab.scenario.cluster.skipsMcoReboot,
  });
  return [...command, ...site.flags];
}

/** The first disk, by the service's name. */
function firstDisk({ machine }: LabHost): string {
  const identity = machine.devices.all().find(({ type }) => type === 'disk')?.identity;
  return identity === undefined ? '/dev/sda' : `/dev/disk/by-id/wwn-${identity.wwn}`;
}

/** The environment of the agent of a host. */
export function environmentOf(
  lab: Lab,
  host: LabHost,
  events: string,
): Readonly<Record<string, string>> {
  const settings = {
    'host.root': join(host.folder, 'root'),
    ...(host.plan.role === 'bootstrap'
      ? { 'images.self': 'registry.example.test/controller:1' }
      : {}),
    'log.events': events,
    ...host.plan.settings,
  };
  const objects = lab.site.addressOf(lab.objects.url, 'objects');
  const variables = Object.entries(settings).map(
    ([name, value]) => [settingVariable(name), value.replaceAll('{objects}', objects)] as const,
  );
  return {
    PATH: `${join(host.folder, 'bin')}:${process.env['PATH'] ?? ''}`,
    HOME: host.folder,
    PULL_SECRET_TOKEN: host.plan.token ?? lab.token,
    ...lab.site.environment,
    ...Object.fromEntries(variables),
  };
}

/** A fault that ends an agent, which then has to start again. */
type Interruption = Exclude<HostFault['kind'], 'second-agent'>;

/** Ends an agent as the fault says, with its programs on the host. */
function interrupt(host: LabHost, agent: AgentProcess): void {
  agent.kill();
  host.server.powerOff();
}

/** Restores a host after its agent was interrupted. */
function recover(host: LabHost, kind: Interruption): void {
  if (kind === 'power-loss') {
    host.phase = 'lost its power';
    restartLiveSystem(host.machine);
  }
  host.server.powerOn();
}

/** Starts a second agent beside the running one, and records its failure. */
async function runSecondAgent(lab: Lab, host: LabHost): Promise<void> {
  const name = 'second-agent';
  const { writer } = host.machine;
  const { seconds } = writer;
  // However late it starts, the first agent still writes.
  writer.seconds = 600;
  const end = await runAgent(lab, host, { name, onEvent: () => undefined });
  writer.seconds = seconds;
  host.secondAgent = failureIn(await readFile(join(host.folder, `${name}.log`), 'utf8'), end);
}
