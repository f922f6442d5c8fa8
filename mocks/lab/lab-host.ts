import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { FailureReport, RunEvent } from '../../src/engine/events.ts';
import type { RunSteps } from '../../src/engine/run-steps.ts';
import type { LayeredSite } from '../layering/plan.ts';
import type { RunningCluster } from '../cluster/run-cluster.ts';
import { buildMachine, type HostSite } from '../host/build-machine.ts';
import type { HostNetwork, Machine } from '../host/machine.ts';
import type { Strike } from '../http/fault.ts';
import { type HostServer, placeStandIn, serveHost } from '../host/socket-server.ts';
import type { InventoryServer } from '../inventory/server.ts';
import type { KubeParts } from '../kube/start.ts';
import type { ObjectStore } from '../objects/server.ts';
import type { AgentFailure } from './agent.ts';
import type { HostOutcome } from './report.ts';
import type { HostFault, HostSpec, Scenario } from './scenario.ts';

/** A host that takes part in a run, with everything that is known of it. */
export interface LabHost {
  readonly plan: HostSpec;
  readonly hostId: string;
  readonly infraEnvId: string;
  /** Words of its agent, where its Ignition starts it and no service gives them. */
  readonly command?: readonly string[] | undefined;
  /** Directory of this host; the host's own files are in `root` below it. */
  readonly folder: string;
  readonly machine: Machine;
  readonly server: HostServer;
  /** Faults that have not struck yet. */
  readonly faults: HostFault[];
  /** Those that have. */
  readonly struck: Strike[];
  /** Everything that its agents told. */
  readonly events: RunEvent[];
  /** The steps of its agents. */
  steps: RunSteps;
  /** What the host itself is at, while no agent runs on it. */
  phase: string;
  outcome?: HostOutcome | undefined;
  failure?: AgentFailure | undefined;
  secondAgent?: AgentFailure | undefined;
  boots: number;
  agentStarts: number;
  /** Milliseconds since the epoch. */
  endedAt?: number | undefined;
}

/** Why the agent of a host has failed, where its events say so. */
export function failedBy({
  events,
}: Pick<LabHost, 'events'>): Pick<FailureReport, 'code' | 'message'> | undefined {
  const last = events.findLast((event) => event.type === 'run.failed');
  return last && { code: last.failure.code, message: last.failure.message };
}

/** Where a host is. */
interface HostPlace {
  readonly folder: string;
  readonly faults: readonly HostFault[];
  readonly site: HostSite;
}

/** Builds the machine of a host and lets agents reach it. */
export async function openHost(
  plan: HostSpec,
  ids: Pick<LabHost, 'hostId' | 'infraEnvId' | 'command'>,
  { folder, faults, site }: HostPlace,
): Promise<LabHost> {
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
    struck: [],
    events: [],
    steps: {},
    phase: 'starts from the live medium',
    boots: 0,
    agentStarts: 0,
  };
}

/** Where the hosts of a run are, if not in the network of the lab. */
export interface LabSite {
  /** The network of the hosts. */
  readonly network: HostNetwork | undefined;
  /** Words behind the service's command. */
  readonly flags: readonly string[];
  /** Variables of every agent. */
  readonly environment: Readonly<Record<string, string>>;
  /** The address by which hosts know a server of the lab. */
  readonly addressOf: (url: string, server: 'service' | 'objects' | 'api') => string;
}

/** Hosts in the network of the lab. */
export const openSite: LabSite = {
  network: undefined,
  flags: [],
  environment: {},
  addressOf: (url) => url,
};

/** What every host of a run shares. */
export interface Lab {
  readonly scenario: Scenario;
  readonly site: LabSite;
  readonly inventory: InventoryServer;
  readonly objects: ObjectStore;
  readonly token: string;
  /** The cluster of the run; none where no host bootstraps one. */
  readonly cluster: RunningCluster | undefined;
  /** What is around a cluster whose operating systems are built. */
  readonly layered: LayeredSite | undefined;
  /** The bundle of the agent. */
  readonly bundle: string;
  /** What its API server is started from; undefined where no cluster starts. */
  readonly kube: KubeParts | undefined;
  /** Aborted when the lab's time is over or somebody stopped it. */
  readonly signal: AbortSignal;
}
