import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { nearestName } from '../../src/lib/nearest.ts';
import { DayFault } from '../cluster/day-2/faults.ts';
import { clusterFields, Pace } from '../cluster/cluster-state.ts';
import { HostPlan } from '../host/build-machine.ts';
import { Fault } from '../http/fault.ts';
import { Layering } from '../layering/plan.ts';
import { renderDuration, seconds } from '../../src/model/duration.ts';
import { outcomeWords } from './report.ts';

/** A host of a scenario: its machine, and the start of its agent. */
export const HostSpec = HostPlan.extend({
  role: z.enum(['bootstrap', 'master', 'arbiter', 'worker']),
  /** Start of its agent, counted from the beginning. */
  startsAfterSeconds: z.number().min(0).default(0),
  /** The agent starts once this host has joined. */
  startsAfterHost: z.string().optional(),
  /** The disk by the service's name; default: the by-id name of the first disk. */
  bootDevice: z.string().optional(),
  /** The agent's token; default: the service's. */
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
 * A fault of a host. `power-loss`: ends all programs, loses the content of memory and boots the
 * live system again; `agent-killed`: ends only the agent; after both, the agent starts again with
 * the same command. `second-agent`: starts another agent beside the first.
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

/** The expected outcome of a host. */
export const HostExpectation = z.strictObject({
  outcome: z.enum(['done', 'failed', 'stopped', 'rebooted', 'live', 'unfinished']),
  /** Code of the failure, if the agent should fail. */
  failure: z.string().optional(),
  boots: z.int().optional(),
  agentStarts: z.int().optional(),
  writes: z.int().optional(),
  /** The expected system of the host: `stock` or `built`. */
  system: z.enum(['stock', 'built']).optional(),
  /** Expected statuses of the host's waits, as regular expressions. */
  statuses: z.array(z.string()).optional(),
  /** Failure of the second agent. */
  secondAgent: z.string().optional(),
});
export type HostExpectation = z.infer<typeof HostExpectation>;

/** Symptoms of an installation that fails, as in docs/guides/when-it-hangs.md. */
export const symptoms = [
  'at once, the disk',
  'at once, the input',
  'Writing image to disk',
  'Waiting for control plane',
  'an OS image is built',
  'Finalizing',
] as const;

/** A scenario of the lab: hosts, a cluster, faults, and the expected outcome. */
export const Scenario = z.strictObject({
  title: z.string(),
  description: z.string(),
  /** Only of an installation that fails. */
  symptom: z.enum(symptoms).optional(),
  cluster: z
    .strictObject({
      name: z.string().default('lab'),
      openshiftVersion: z.string().default('4.20.1'),
      controlPlaneCount: z.int().default(3),
      kind: z.enum(['Cluster', 'AddHostsCluster']).default('Cluster'),
      /** The installer; with `agent-installer` the service runs on the bootstrap host itself. */
      invoker: z.enum(['assisted-service', 'agent-installer']).default('assisted-service'),
      /** The service uses TLS with a certificate of an authority unknown to the hosts. */
      isServiceUntrusted: z.boolean().default(false),
      ...clusterFields,
      /** Time for which the service waits for the operators of the cluster; default: ten hours. */
      operatorsLimitSeconds: z.number().positive().optional(),
      /** Time for which a host may wait for the control plane; default: an hour. */
      controlPlaneLimitSeconds: z.number().positive().optional(),
      /** Round trip from a host to the API server. */
      apiRoundTripMillis: z.number().min(0).default(0),
      /** The service makes hosts write the final system before their first boot. */
      skipsMcoReboot: z.boolean().default(false),
    })
    .prefault({}),
  layering: Layering.optional(),
  /**
   * After the installation, the Machine Config Operator is removed, and a person changes the
   * configuration of nodes.
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
   * Duration on two cores under load. Each scenario in the folder has one; its suite fails at four
   * times the duration.
   */
  usualSeconds: z.number().positive().optional(),
  /** The lab gives up after this time. */
  limitSeconds: z.number().positive().default(600),
  expect: z.strictObject({
    outcome: z.enum(['installed', 'failed']),
    /**
     * Expected status of the cluster at the service; default: `installed`, if a controller
     * completes the installation.
     */
    clusterStatus: z.string().optional(),
    /** Expected state of the cluster at the service, as regular expressions; see `serviceLines`. */
    service: z.array(z.string()).default([]),
    /** Expected lines of the controller's log, as regular expressions. */
    controllerLog: z.array(z.string()).default([]),
    hosts: z.record(z.string(), HostExpectation).default({}),
  }),
});
export type Scenario = z.infer<typeof Scenario>;

/**
 * Whether a cluster with an API server starts; a single node starts its own, which the lab does not
 * see.
 */
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
 * @throws Error for an unknown name, ZodError for a malformed scenario
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

/** Parses a scenario, and checks that faults and expectations name its hosts. */
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

type Listed = Pick<Scenario, 'title' | 'description' | 'symptom' | 'usualSeconds' | 'expect'>;

/** A scenario's title, expected end and duration. */
export function listed(name: string, scenario: Listed): string {
  const { title, description, usualSeconds } = scenario;
  const after =
    usualSeconds === undefined ? '' : `, after about ${renderDuration(seconds(usualSeconds))}`;
  return [
    `${name}${name === DEFAULT_SCENARIO ? ' (the default)' : ''}: ${title}`,
    `    ${description.trim()}`,
    `    Ends: ${endOf(scenario)}${after}.`,
    '\n',
  ].join('\n');
}

/** Groups the scenarios that succeed, and those that fail by symptom; leaves out empty groups. */
export function grouped<S extends Listed>(
  scenarios: readonly (readonly [string, S])[],
): readonly { readonly heading: string; readonly scenarios: readonly (readonly [string, S])[] }[] {
  const isInstalled = ({ expect: { outcome, clusterStatus = 'installed' } }: Listed): boolean =>
    outcome === 'installed' && clusterStatus === 'installed';
  const fail = scenarios.filter(([, scenario]) => !isInstalled(scenario));
  return [
    {
      heading: 'Installations that succeed',
      scenarios: scenarios.filter(([, scenario]) => isInstalled(scenario)),
    },
    ...symptoms.map((symptom) => ({
      heading: `Installations that fail: ${symptom}`,
      scenarios: fail.filter(([, scenario]) => scenario.symptom === symptom),
    })),
  ].filter((group) => group.scenarios.length > 0);
}

/** The expected outcome, with the hosts that should fail. */
function endOf({ expect: { outcome, clusterStatus = 'installed', hosts } }: Listed): string {
  const failures = Object.entries(hosts).flatMap(([host, { failure }]) =>
    failure === undefined ? [] : [`${host} by ${failure}`],
  );
  return [outcomeWords({ outcome, clusterStatus, operators: [] }), ...failures].join(', ');
}
