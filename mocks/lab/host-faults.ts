import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunEvent } from '../../src/engine/events.ts';
import { restartLiveSystem } from '../host/power.ts';
import type { AgentProcess } from './agent-process.ts';
import { runAgent } from './agent-run.ts';
import { failureIn } from './failure-log.ts';
import type { Lab } from './lab.ts';
import type { HostFault } from './scenario.ts';
import type { Seat } from './seat.ts';

/** A fault that ended an agent, so that it has to be started again. */
export type Interruption = Exclude<HostFault['kind'], 'second-agent'>;

/** Takes the fault of a host that the end of a step, or a wait, lets strike, if there is one. */
export function faultsAfter(seat: Seat, event: RunEvent): readonly HostFault[] {
  if (event.type !== 'step.finished' && event.type !== 'wait.updated') return [];
  const place = event.type === 'step.finished' ? 'after' : 'during';
  const at = seat.faults.findIndex((fault) => fault[place] === event.step);
  return at === -1 ? [] : seat.faults.splice(at, 1);
}

/** Ends an agent as the fault says. What ran on the host in its name ends too. */
export function interrupt(seat: Seat, agent: AgentProcess): void {
  agent.kill();
  seat.server.powerOff();
}

/** Brings a host back after its agent was interrupted. */
export async function recover(seat: Seat, kind: Interruption): Promise<void> {
  if (kind === 'power-loss') {
    seat.phase = 'lost its power';
    await restartLiveSystem(seat.machine);
  }
  seat.server.powerOn();
}

/** Starts another agent beside the one that runs, and keeps what it fails with. */
export async function runSecondAgent(lab: Lab, seat: Seat): Promise<void> {
  const name = 'second-agent';
  const end = await runAgent(lab, seat, { name, onEvent: () => undefined });
  seat.secondAgent = failureIn(await readFile(join(seat.folder, `${name}.log`), 'utf8'), end);
}
