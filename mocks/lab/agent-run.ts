// One start of an agent on one host, to its end.
import { join } from 'node:path';
import type { RunEvent } from '../../src/engine/events.ts';
import { type AgentEnd, type AgentProcess, startAgent } from './agent-process.ts';
import { followEvents } from './event-file.ts';
import { installArguments, settingVariable } from './install-command.ts';
import type { Lab } from './lab.ts';
import type { Seat } from './seat.ts';

/** How one agent is told from another on the same host. */
export interface AgentRun {
  readonly name: string;
  readonly onEvent: (event: RunEvent, agent: AgentProcess) => void;
}

const LOOK_AT_SERVICE_MILLIS = 200;

/** Runs an agent with the command of the service; the service may take the installation from it. */
export async function runAgent(
  lab: Lab,
  seat: Seat,
  { name, onEvent }: AgentRun,
): Promise<AgentEnd & { readonly wasStopped: boolean }> {
  const events = join(seat.folder, `${name}.events.jsonl`);
  const agent = startAgent({
    bundle: lab.bundle,
    args: argumentsOf(lab, seat),
    env: environmentOf(lab, seat, events),
    logFile: join(seat.folder, `${name}.log`),
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
    if (isTaken(lab, seat)) stop();
  }, LOOK_AT_SERVICE_MILLIS);
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

/** The next-step agent stops the container when the service has given the host up. */
function isTaken({ inventory }: Lab, { hostId }: Seat): boolean {
  const host = inventory.store.host(hostId);
  if (host === undefined || host.statusInfo.startsWith('Failed')) return false;
  return host.status === 'error' || host.status === 'cancelled';
}

function argumentsOf(lab: Lab, seat: Seat): readonly string[] {
  const { plan, hostId, infraEnvId } = seat;
  return installArguments({
    host: plan,
    hostId,
    infraEnvId,
    cluster: lab.inventory.store.cluster(),
    serviceUrl: lab.inventory.url,
    bootDevice: plan.bootDevice ?? firstDisk(seat),
    skipsMcoReboot: lab.scenario.cluster.skipsMcoReboot,
  });
}

/** The first disk as the service names it. */
function firstDisk({ machine }: Seat): string {
  const identity = machine.devices.all().find(({ type }) => type === 'disk')?.identity;
  return identity === undefined ? '/dev/sda' : `/dev/disk/by-id/wwn-${identity.wwn}`;
}

function environmentOf(lab: Lab, seat: Seat, events: string): Readonly<Record<string, string>> {
  const settings = {
    'host.root': join(seat.folder, 'root'),
    ...(seat.plan.role === 'bootstrap' ? { 'images.self': 'registry.example.test/self:1' } : {}),
    'log.events': events,
    ...seat.plan.settings,
  };
  const variables = Object.entries(settings).map(
    ([name, value]) =>
      [settingVariable(name), value.replaceAll('{objects}', lab.objects.url)] as const,
  );
  return {
    PATH: `${join(seat.folder, 'bin')}:${process.env['PATH'] ?? ''}`,
    HOME: seat.folder,
    PULL_SECRET_TOKEN: lab.token,
    ...Object.fromEntries(variables),
  };
}
