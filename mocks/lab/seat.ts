import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buildMachine, type HostSite } from '../host/build-machine.ts';
import type { Machine } from '../host/machine.ts';
import { type HostServer, serveHost } from '../host/socket-server.ts';
import { placeStandIn } from '../host/stand-in.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import type { AgentFailure } from './failure-log.ts';
import { type HostProgress, noProgress } from './host-progress.ts';
import type { HostOutcome } from './report.ts';
import type { HostFault, LabHost } from './scenario.ts';

/** A host that takes part in a play, with everything that is known of it. */
export interface Seat {
  readonly plan: LabHost;
  readonly hostId: string;
  readonly infraEnvId: string;
  /** Directory of this host; the host's own files are in `root` below it. */
  readonly folder: string;
  readonly machine: Machine;
  readonly server: HostServer;
  /** Faults that have not struck yet. */
  readonly faults: HostFault[];
  /** Everything that its agents told. */
  readonly events: RunEvent[];
  progress: HostProgress;
  /** What the host itself is at, while no agent runs on it. */
  phase: string;
  outcome: HostOutcome | undefined;
  failure: AgentFailure | undefined;
  secondAgent: AgentFailure | undefined;
  boots: number;
  agentStarts: number;
  /** Milliseconds since the epoch. */
  endedAt: number | undefined;
}

/** Where a host is. */
interface SeatPlace {
  readonly folder: string;
  readonly faults: readonly HostFault[];
  readonly site: HostSite;
}

/** Builds the machine of a host and lets agents reach it. */
export async function takeSeat(
  plan: LabHost,
  ids: Pick<Seat, 'hostId' | 'infraEnvId'>,
  { folder, faults, site }: SeatPlace,
): Promise<Seat> {
  const root = join(folder, 'root');
  await mkdir(root, { recursive: true });
  const machine = buildMachine(plan, root, site);
  const socket = join(folder, 'socket');
  const server = await serveHost(machine, socket);
  await placeStandIn(join(folder, 'bin'), socket);
  return {
    plan,
    ...ids,
    folder,
    machine,
    server,
    faults: [...faults],
    events: [],
    progress: noProgress,
    phase: 'starts from the live medium',
    outcome: undefined,
    failure: undefined,
    secondAgent: undefined,
    boots: 0,
    agentStarts: 0,
    endedAt: undefined,
  };
}
