import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { nearestName } from '../../src/lib/nearest.ts';
import { DayFault } from '../cluster/day-2/faults.ts';
import { clusterFields } from '../cluster/cluster-state.ts';
import { Pace } from '../cluster/pace.ts';
import { HostPlan } from '../host/build-machine.ts';
import { Fault } from '../http/fault.ts';
import { Layering } from '../layering/plan.ts';

/** A host of a scenario: the machine, and how its agent is started. */
export const HostSpec = HostPlan.extend({
  role: z.enum(['bootstrap', 'master', 'arbiter', 'worker']),
  /** When its agent starts, counted from the beginning. */
  startsAfterSeconds: z.number().min(0).default(0),
  /** It starts once this host has joined, however long that takes. */
  startsAfterHost: z.string().optional(),
  /** The disk as the service names it; by-id of the first disk unless given. */
  bootDevice: z.string().optional(),
  /** The token that its agent is given; the one of the service unless given. */
  token: z.string().optional(),
  /** Arguments for coreos-installer. */
  installerArgs: z.array(z.string()).default([]),
  /**
   * Settings of the agent by dotted name; `{objects}` in a value is the URL of the object store.
   */
  settings: z.record(z.string(), z.string()).default({}),
});
export type HostSpec = z.infer<typeof HostSpec>;

const at = {
  host: z.string(),
  after: z.string().optional().describe('id of a step that has finished'),
  during: z.string().optional().describe('id of a step that waits'),
};

/**
 * What befalls a host: `power-loss` ends everything, loses what was in memory and starts the live
 * system again; `agent-killed` ends the agent alone; both start it again with the same command.
 * `second-agent` starts another one beside the first.
 */
export const HostFault = z
  .strictObject({ kind: z.enum(['power-loss', 'agent-killed', 'second-agent']), ...at })
  .refine(({ after, during }) => (after === undefined) !== (during === undefined), {
    message: 'a fault strikes `after` a step or `during` a wait',
  });
export type HostFault = z.infer<typeof HostFault>;

const StoredObject = z.strictObject({
  bucket: z.string(),
  key: z.string(),
  kibibytes: z.int().positive(),
});

/** What must have become of a host. */
export const HostExpectation = z.strictObject({
  outcome: z.enum(['done', 'failed', 'stopped', 'live', 'unfinished']),
  /** Code of the failure, where the agent failed. */
  failure: z.string().optional(),
  boots: z.int().optional(),
  agentStarts: z.int().optional(),
  writes: z.int().optional(),
  /** What the host runs in the end: `stock` or `built`. */
  system: z.enum(['stock', 'built']).optional(),
  /** What the host must have said while it waited, as regular expressions. */
  statuses: z.array(z.string()).optional(),
  /** Failure of the second agent. */
  secondAgent: z.string().optional(),
});
export type HostExpectation = z.infer<typeof HostExpectation>;

/** A scenario of the lab: hosts, a cluster, faults, and the expected outcome. */
export const Scenario = z.strictObject({
  title: z.string(),
  description: z.string(),
  cluster: z
    .strictObject({
      name: z.string().default('lab'),
      openshiftVersion: z.string().default('4.20.1'),
      controlPlaneCount: z.int().default(3),
      kind: z.enum(['Cluster', 'AddHostsCluster']).default('Cluster'),
      /** Who installs; with `agent-installer` the service runs on the bootstrap host itself. */
      invoker: z.enum(['assisted-service', 'agent-installer']).default('assisted-service'),
      /** The service speaks TLS, with a certificate of an authority that no host knows. */
      isServiceUntrusted: z.boolean().default(false),
      ...clusterFields,
      /** How long the service waits for the operators of the cluster; ten hours unless given. */
      operatorsLimitSeconds: z.number().positive().optional(),
      /** How long a byte takes from a host to the API server and back. */
      apiRoundTripMillis: z.number().min(0).default(0),
      /** The service tells hosts to write the final system before their first boot. */
      skipsMcoReboot: z.boolean().default(false),
    })
    .prefault({}),
  layering: Layering.optional(),
  /**
   * Once it is installed the Machine Config Operator goes, and a person changes what nodes are to
   * be.
   */
  dayAfter: z.strictObject({ faults: z.array(DayFault).default([]) }).optional(),
  pace: Pace.prefault({}),
  hosts: z.array(HostSpec).min(1),
  objects: z.array(StoredObject).default([]),
  faults: z
    .strictObject({
      inventory: z.array(Fault).default([]),
      objects: z.array(Fault).default([]),
      hosts: z.array(HostFault).default([]),
    })
    .prefault({}),
  /**
   * How long it takes on two cores with other work. Each scenario of the folder says so, and its
   * suite fails where it takes four times as long.
   */
  usualSeconds: z.number().positive().optional(),
  /** After this time the lab gives up. */
  limitSeconds: z.number().positive().default(180),
  expect: z.strictObject({
    outcome: z.enum(['installed', 'failed']),
    /**
     * Of the cluster at the service in the end; `installed` unless said, where a controller
     * completes the installation.
     */
    clusterStatus: z.string().optional(),
    /**
     * What the service has of the cluster in the end, as regular expressions; see `serviceLines`.
     */
    service: z.array(z.string()).default([]),
    /** What the controller has logged, as regular expressions. */
    controllerLog: z.array(z.string()).default([]),
    hosts: z.record(z.string(), HostExpectation).default({}),
  }),
});
export type Scenario = z.infer<typeof Scenario>;

/** Whether a cluster with an API server starts; a single node starts its own, unseen. */
export const hasCluster = ({ hosts, cluster }: Scenario): boolean =>
  cluster.controlPlaneCount !== 1 && hosts.some(({ role }) => role === 'bootstrap');

const folder = join(import.meta.dirname, '..', 'scenarios');

/** The default scenario. */
export const DEFAULT_SCENARIO = 'cluster';

/** Names of all scenarios, the default first. */
export async function scenarioNames(): Promise<readonly string[]> {
  const names = (await readdir(folder))
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => name.replace('.yaml', ''));
  return [DEFAULT_SCENARIO, ...names.filter((name) => name !== DEFAULT_SCENARIO).toSorted()];
}

/**
 * Reads a scenario.
 * @throws Error for an unknown name, ZodError for a scenario that is malformed
 */
export async function readScenario(name: string): Promise<Scenario> {
  const names = await scenarioNames();
  if (!names.includes(name)) {
    const near = nearestName(name, names);
    const end = near === undefined ? `there are: ${names.join(', ')}` : `did you mean ${near}`;
    throw new Error(`no scenario is called ${name}; ${end}`);
  }
  return parseScenario(await readFile(join(folder, `${name}.yaml`), 'utf8'));
}

/** Checks the text of a scenario, also that faults and expectations name its hosts. */
export function parseScenario(text: string): Scenario {
  const scenario = Scenario.parse(parse(text));
  const known = new Set(scenario.hosts.map(({ name }) => name));
  const named = [
    ...scenario.faults.hosts.map(({ host }) => host),
    ...(scenario.dayAfter?.faults.map(({ host }) => host) ?? []),
    ...Object.keys(scenario.expect.hosts),
  ];
  const stranger = named.find((name) => !known.has(name));
  if (stranger !== undefined) throw new Error(`the scenario has no host ${stranger}`);
  if (scenario.dayAfter !== undefined && scenario.layering === undefined) {
    throw new Error('a day after needs operating systems that are built: layering');
  }
  return scenario;
}
