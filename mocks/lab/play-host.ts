// One host from its live system to its place in the cluster.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { liveOn } from '../cluster/node-life.ts';
import type { NodeKind } from '../cluster/pace.ts';
import { decideBoot } from '../host/boot.ts';
import type { AgentEnd } from './agent-process.ts';
import { runAgent } from './agent-run.ts';
import {
  faultsAfter,
  interrupt,
  type Interruption,
  recover,
  runSecondAgent,
} from './host-faults.ts';
import { failureIn } from './failure-log.ts';
import { afterEvent } from './host-progress.ts';
import type { Lab } from './lab.ts';
import type { HostOutcome } from './report.ts';
import type { HostFault } from './scenario.ts';
import type { Seat } from './seat.ts';

/** Plays one host to its end; its outcome is in the seat. Never rejects. */
export async function playHost(lab: Lab, seat: Seat): Promise<void> {
  try {
    await sleep(seat.plan.startsAfterSeconds * 1000, undefined, { signal: lab.signal });
    seat.outcome = await play(lab, seat);
  } catch (error) {
    seat.outcome = lab.signal.aborted ? 'unfinished' : 'failed';
    seat.failure ??= lab.signal.aborted
      ? undefined
      : { code: 'lab', message: error instanceof Error ? error.message : String(error) };
  }
  seat.endedAt = Date.now();
}

async function play(lab: Lab, seat: Seat): Promise<HostOutcome> {
  const end = await runUntilItEnds(lab, seat);
  if (end.wasStopped) return lab.signal.aborted ? 'unfinished' : 'stopped';
  const leavesByItself = seat.machine.reboot !== undefined;
  const leavesByIronic = !seat.machine.units.isActive('agent.service');
  if (end.exitCode !== 0 || !(leavesByItself || leavesByIronic)) {
    const log = join(seat.folder, `agent-${seat.agentStarts}.log`);
    seat.failure = seat.progress.failure ?? failureIn(await readFile(log, 'utf8'), end);
    return 'failed';
  }
  return reboot(lab, seat);
}

async function runUntilItEnds(
  lab: Lab,
  seat: Seat,
): Promise<AgentEnd & { readonly wasStopped: boolean }> {
  const second: Promise<void>[] = [];
  const due: HostFault[] = [];
  for (;;) {
    let interruption: Interruption | undefined;
    seat.agentStarts += 1;
    const end = await runAgent(lab, seat, {
      name: `agent-${seat.agentStarts}`,
      onEvent: (event, agent) => {
        seat.events.push(event);
        seat.progress = afterEvent(seat.progress, event);
        due.push(...faultsAfter(seat, event));
        // What an agent tells that was killed already lets the next one be killed.
        const fault = interruption === undefined ? due.shift() : undefined;
        if (fault === undefined) return;
        if (fault.kind === 'second-agent') second.push(runSecondAgent(lab, seat));
        else {
          interruption = fault.kind;
          interrupt(seat, agent);
        }
      },
    });
    await Promise.all(second);
    if (interruption === undefined) return end;
    await recover(seat, interruption);
  }
}

async function reboot(lab: Lab, seat: Seat): Promise<HostOutcome> {
  const { machine, server, hostId, plan } = seat;
  server.powerOff();
  const boot = decideBoot(machine);
  if (boot.kind === 'live') {
    seat.failure = { code: 'lab.boots-live', message: boot.because };
    return 'live';
  }
  seat.boots += 1;
  seat.phase = `starts from ${boot.disk}`;
  const { store } = lab.inventory;
  if (lab.life === undefined) {
    const life = { hostId, kind: nodeKind(lab, plan.role), pace: lab.scenario.pace };
    await liveOn(store, life, lab.signal);
  } else {
    lab.life.happen({ kind: 'rebooted', host: plan.name });
    await untilSettled(lab, hostId);
  }
  return store.host(hostId)?.stage === 'Done' ? 'done' : 'stopped';
}

function nodeKind({ scenario }: Lab, role: string): NodeKind {
  if (role === 'worker') return 'worker';
  return scenario.cluster.controlPlaneCount === 1 ? 'single-node' : 'control-plane';
}

const LOOK_EVERY_MILLIS = 50;

/** Waits until the controller has said the last word about a host, or the service gave it up. */
async function untilSettled({ inventory, signal }: Lab, hostId: string): Promise<void> {
  const isOpen = (): boolean => {
    const host = inventory.store.host(hostId);
    return host !== undefined && host.stage !== 'Done' && host.status !== 'error';
  };
  while (isOpen()) await sleep(LOOK_EVERY_MILLIS, undefined, { signal });
}
