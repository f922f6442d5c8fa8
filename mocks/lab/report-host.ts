import { idleOf } from '../cluster/idle.ts';
import { stockImage } from '../layering/plan.ts';
import type { Lab } from './lab.ts';
import type { HostReport } from './report.ts';
import type { Seat } from './seat.ts';
import { STOCK } from './system-name.ts';

/** What happened on one host, for the report. */
export function reportHost(lab: Lab, seat: Seat, startedAt: number): HostReport {
  const { plan, machine, progress } = seat;
  const isWrite = ({ argv }: Seat['machine']['ran'][number]): boolean =>
    argv[0] === 'coreos-installer' && argv[1] === 'install';
  return {
    name: plan.name,
    role: plan.role,
    outcome: seat.outcome ?? 'unfinished',
    stage: lab.inventory.store.host(seat.hostId)?.stage ?? '',
    boots: seat.boots,
    ...systemOf(lab, plan.name),
    agentStarts: seat.agentStarts,
    seconds: rounded(((seat.endedAt ?? Date.now()) - startedAt) / 1000),
    waited: progress.waits.map((wait) => ({ ...wait, seconds: rounded(wait.seconds) })),
    steps: progress.steps
      .map(({ step, seconds }) => ({ step, seconds: rounded(seconds) }))
      .toSorted((one, other) => other.seconds - one.seconds),
    ...idleSeconds(lab, seat),
    writes: machine.ran.filter(isWrite).length,
    commands: machine.ran.length,
    unknownCommands: [...machine.unknown],
    ...(seat.failure === undefined ? {} : { failure: seat.failure }),
    ...(seat.secondAgent === undefined ? {} : { secondAgent: seat.secondAgent }),
  };
}

/** What a host runs; nothing where no operating systems are built, or before it has started from its disk. */
function systemOf({ layered }: Lab, host: string): Pick<HostReport, 'system'> {
  const image = layered?.systems.get(host)?.image;
  if (image === undefined) return {};
  return { system: image === stockImage ? STOCK : image };
}

/** What the cluster knows of the waits of a host; nothing where no cluster is played. */
function idleSeconds({ life }: Lab, { events }: Seat): Pick<HostReport, 'idleSeconds'> {
  if (life === undefined) return {};
  return { idleSeconds: rounded(idleOf(life.marks, events).millis / 1000) };
}

const rounded = (seconds: number): number => Math.round(seconds * 100) / 100;
