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

/** A host of a run, with its state. */
export interface LabHost {
  readonly plan: HostSpec;
  readonly hostId: string;
  readonly infraEnvId: string;
  /** Arguments of its agent, if its Ignition starts it without a service. */
  readonly command?: readonly string[] | undefined;
  /** Directory of this host; its own files are in `root` below it. */
  readonly folder: string;
  readonly machine: Machine;
  readonly server: HostServer;
  /** Faults that have not occurred yet. */
  readonly faults: HostFault[];
  /** Faults that have occurred. */
  readonly struck: Strike[];
  /** All events of its agents. */
  readonly events: RunEvent[];
  /** The steps of its agents. */
  steps: RunSteps;
  /** The phase of the host while no agent runs on it. */
  phase: string;
  outcome?: HostOutcome | undefined;
  failure?: AgentFailure | undefined;
  secondAgent?: AgentFailure | undefined;
  boots: number;
  agentStarts: number;
  /** Milliseconds since the epoch. */
  endedAt?: number | undefined;
}

/** The failure of a host's agent, from its events. */
export function failedBy({
  events,
}: Pick<LabHost, 'events'>): Pick<FailureReport, 'code' | 'message'> | undefined {
  const last = events.findLast((event) => event.type === 'run.failed');
  return last && { code: last.failure.code, message: last.failure.message };
}

/** Address and directory of a host. */
interface HostPlace {
  readonly folder: string;
  readonly faults: readonly HostFault[];
  readonly site: HostSite;
}

/** Makes the machine of a host and connects agents to it. */
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

/** The network of a run's hosts, if it is not the lab's. */
export interface LabSite {
  /** The network of the hosts. */
  readonly network: HostNetwork | undefined;
  /** Flags added to the service's command. */
  readonly flags: readonly string[];
  /** Environment of every agent. */
  readonly environment: Readonly<Record<string, string>>;
  /** URL of a lab server, as hosts reach it. */
  readonly addressOf: (url: string, server: 'service' | 'objects' | 'api') => string;
}

/** Hosts in the network of the lab. */
export const openSite: LabSite = {
  network: undefined,
  flags: [],
  environment: {},
  addressOf: (url) => url,
};

/** State that all hosts of a run share. */
export interface Lab {
  readonly scenario: Scenario;
  readonly site: LabSite;
  readonly inventory: InventoryServer;
  readonly objects: ObjectStore;
  readonly token: string;
  /** The cluster of the run; undefined if no host bootstraps one. */
  readonly cluster: RunningCluster | undefined;
  /** Registries and settings of a cluster that builds operating systems. */
  readonly layered: LayeredSite | undefined;
  /** The bundle of the agent. */
  readonly bundle: string;
  /** Programs and data of its API server; undefined if no cluster starts. */
  readonly kube: KubeParts | undefined;
  /** Aborted when the lab's time is over or a user stops it. */
  readonly signal: AbortSignal;
}
