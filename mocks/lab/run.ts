import { randomUUID } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Plan } from '../../src/engine/describe.ts';
import type { DayOutcome } from '../cluster/day-2/day-after.ts';
import type { HostSite } from '../host/build-machine.ts';
import { tokenIssuer } from '../inventory/auth.ts';
import { createPki } from '../kube/pki.ts';
import { clusterSeed, hostSeed } from '../inventory/records.ts';
import { startInventory } from '../inventory/server.ts';
import type { InventoryStore } from '../inventory/store.ts';
import type { KubeParts } from '../kube/start.ts';
import { startObjectStore } from '../objects/server.ts';
import { afterGivenTime, planOfAgent } from './agent.ts';
import { openCluster, withoutPrefix } from './start-cluster.ts';
import {
  differencesOf,
  endDifferences,
  reportHost,
  reportLayering,
  spared,
  unsaid,
} from './make-report.ts';
import { type Lab, type LabHost, type LabSite, openHost, openSite } from './lab-host.ts';
import { layeredGround, layeredSite, serveConfigs } from './layered-site.ts';
import { argumentsOf, environmentOf, runHost } from './run-host.ts';
import { CONTROLLER_LOGS, type LabReport, outcomeOf, reportOf } from './report.ts';
import type { Scenario } from './scenario.ts';

/** The observable state of a running run. */
export interface LabRun {
  readonly name: string;
  readonly lab: Lab;
  readonly hosts: readonly LabHost[];
  /** The plan of a host's agent. */
  readonly planOf: (host: string) => Promise<Plan>;
  /** Place of each node on the day after. */
  readonly whereabouts: Map<string, string>;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Directory with all files of the hosts and agents. */
  readonly folder: string;
}

/** Inputs of a scenario's run. */
interface RunOptions {
  readonly name: string;
  readonly scenario: Scenario;
  readonly bundle: string;
  /** Programs and data of an API server; only a scenario with a cluster needs them. */
  readonly kube: KubeParts | undefined;
  /** Site of its hosts; default: the network of the lab. */
  readonly site?: LabSite;
  /** Ends the run early. */
  readonly signal: AbortSignal;
  /** Called right before the hosts start; returns a function that stops watching. */
  readonly watch: (run: LabRun) => () => void;
}

/** Runs a scenario to its end and resolves with the report. */
export async function runScenario(options: RunOptions): Promise<LabReport> {
  const { name, scenario } = options;
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-lab-'));
  const over = new AbortController();
  using _limit = afterGivenTime(scenario.limitSeconds, () => {
    over.abort(new Error(`the limit of ${scenario.limitSeconds} s is over`));
  });
  // Running servers would keep this process alive, also if the cluster cannot start.
  await using opened = new AsyncDisposableStack();
  const world = await openWorld(scenario);
  opened.defer(() => world.objects.close());
  opened.defer(() => world.inventory.close());
  const alone: Lab = {
    scenario,
    site: options.site ?? openSite,
    ...world,
    cluster: undefined,
    layered: undefined,
    bundle: options.bundle,
    kube: options.kube,
    signal: AbortSignal.any([options.signal, over.signal]),
  };
  const ground = layeredGround(scenario);
  const hosts = await openHosts(alone, { folder, site: ground?.hosts ?? {} });
  opened.defer(async () => {
    for (const { machine } of hosts) machine.units.reset([], []);
    await Promise.all(hosts.map(({ server }) => server.close()));
  });
  const { store } = alone.inventory;
  for (const { machine } of hosts) machine.network = alone.site.network;
  const layered = ground && layeredSite(ground, hosts, store);
  await using started = await openCluster({ ...alone, layered }, hosts, folder);
  const { cluster } = started;
  const configServer = layered && (await serveConfigs(store, () => cluster));
  opened.defer(async () => configServer?.close());
  const lab: Lab = { ...alone, cluster, layered };
  const whereabouts = new Map<string, string>();
  const planOf = (host: string): Promise<Plan> => planOfHost(lab, hosts, host);
  const run: LabRun = { name, lab, hosts, planOf, whereabouts, startedAt: Date.now(), folder };
  const endWatching = options.watch(run);
  let complaints: readonly string[];
  let day: DayOutcome | undefined;
  try {
    await Promise.all(hosts.map((host) => runHost(lab, host)));
    if (cluster === undefined) completeAlone(store, hosts);
    complaints = await started.end();
    day = await dayAfter(run);
  } finally {
    endWatching();
    await opened.disposeAsync();
  }
  // The stand-in for the cluster's state is not an archive.
  const logs = store.controllerLogs().findLast(({ bytes }) => bytes[0] === GZIP_MAGIC);
  if (logs !== undefined) await writeFile(join(folder, CONTROLLER_LOGS), logs.bytes);
  return finalReport(run, [...complaints, ...(day?.violations ?? [])], day);
}

/** The first byte of a gzip file (RFC 1952). */
const GZIP_MAGIC = 0x1f;

/** Runs the day after a successful installation, if the scenario has one. */
async function dayAfter({ lab, hosts, whereabouts }: LabRun): Promise<DayOutcome | undefined> {
  const { faults } = lab.scenario.dayAfter ?? {};
  if (faults === undefined || hosts.some(({ outcome }) => outcome !== 'done')) return undefined;
  return lab.cluster?.dayAfter({ faults, whereabouts, signal: lab.signal });
}

async function planOfHost(lab: Lab, hosts: readonly LabHost[], name: string): Promise<Plan> {
  const host = hosts.find(({ plan }) => plan.name === name);
  if (host === undefined) throw new RangeError(`no host is called ${name}`);
  return planOfAgent(argumentsOf(lab, host), environmentOf(lab, host, ''));
}

/**
 * Without a cluster there is no controller either, so the end of its hosts is the end of the
 * installation.
 */
export function completeAlone(
  store: InventoryStore,
  hosts: readonly Pick<LabHost, 'outcome'>[],
): void {
  const record = store.cluster();
  const isDone = record.status === 'finalizing' && hosts.every(({ outcome }) => outcome === 'done');
  if (isDone) store.setCluster({ ...record, status: 'installed' });
}

type World = Pick<Lab, 'inventory' | 'objects' | 'token'>;

async function openWorld({ cluster: plan, hosts, faults, objects }: Scenario): Promise<World> {
  const issuer = tokenIssuer();
  const infraEnvId = randomUUID();
  const { name, openshiftVersion, controlPlaneCount, kind } = plan;
  const cluster = clusterSeed({
    name,
    openshiftVersion,
    controlPlaneCount,
    kind,
    status: plan.kind === 'Cluster' ? 'installing' : 'adding-hosts',
  });
  const inventory = await startInventory({
    cluster,
    hosts: hosts.map(({ name, role }) =>
      hostSeed({
        hostname: name,
        role: role === 'bootstrap' ? 'master' : role,
        isBootstrap: role === 'bootstrap',
        clusterId: cluster.id,
        infraEnvId,
      }),
    ),
    finalizingLimits:
      plan.operatorsLimitSeconds === undefined
        ? {}
        : { 'Waiting for cluster operators': plan.operatorsLimitSeconds * 1000 },
    hostLimits:
      plan.controlPlaneLimitSeconds === undefined
        ? {}
        : { 'Waiting for control plane': plan.controlPlaneLimitSeconds * 1000 },
    auth: issuer.auth,
    faults: faults.inventory,
    tls: plan.isServiceUntrusted ? (await createPki()).serving : undefined,
  });
  const store = await startObjectStore({ faults: faults.objects });
  for (const { bucket, key, kibibytes } of objects) store.put(bucket, key, imageOf(kibibytes));
  return { inventory, objects: store, token: issuer.issue({ infra_env_id: infraEnvId }) };
}

/** A disk image of zeros with a GPT header, compressed like real images. */
function imageOf(kibibytes: number): Uint8Array {
  const image = Buffer.alloc(kibibytes * 1024);
  image.write('EFI PART', 512, 'latin1');
  return gzipSync(image, { level: 0 });
}

const openHosts = (
  lab: Lab,
  { folder, site }: { readonly folder: string; readonly site: HostSite },
): Promise<readonly LabHost[]> =>
  Promise.all(
    lab.inventory.store.hosts().map(async ({ id, infraEnvId, hostname, addresses }, index) => {
      const plan = lab.scenario.hosts[index];
      if (plan === undefined) throw new RangeError(`no plan for ${hostname}`);
      return openHost(
        { ...plan, addresses: addresses.map(withoutPrefix) },
        { hostId: id, infraEnvId },
        {
          folder: join(folder, hostname),
          site,
          faults: lab.scenario.faults.hosts.filter(({ host }) => host === hostname),
        },
      );
    }),
  );

/** The reason why a run ended early. */
const endedBy = ({ aborted, reason }: AbortSignal, startedAt: number): readonly string[] =>
  aborted
    ? [
        `the run was ended after ${Math.round((Date.now() - startedAt) / 1000)} s: ${(reason as Error).message}`,
      ]
    : [];

function finalReport(
  run: LabRun,
  complaints: readonly string[],
  day: DayOutcome | undefined,
): LabReport {
  const { name, lab, startedAt } = run;
  const { inventory, objects, layered } = lab;
  const hosts = run.hosts.map((host) => reportHost(lab, host, startedAt));
  return reportOf({
    name,
    startedAt,
    hosts,
    inventory,
    differences: [
      ...differencesOf(lab.scenario, { outcome: outcomeOf(hosts), hosts }, complaints),
      ...unsaid(lab.scenario, run.hosts),
      ...spared(run.hosts),
      ...endedBy(lab.signal, run.startedAt),
      ...endDifferences(lab),
    ],
    faults: inventory.faults.hits() + objects.faults.hits(),
    layering: layered && reportLayering(layered),
    dayAfter: day?.seconds,
  });
}
