// A whole cluster of virtual machines: one bootstraps it and becomes its third master.
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bootInstalled } from '../install/first-boot.ts';
import { proofLine } from '../install/ignition.ts';
import { type LiveInstall, planOfInstall } from '../install/live-install.ts';
import type { Outside } from '../install/outside.ts';
import { type PreparedGuests, prepareGuests, targetMiB } from '../install/prepare.ts';
import { createBlankDisk } from '../rig/disks.ts';
import type { Plan } from '../../../src/engine/describe.ts';
import type { RunningCluster } from '../../../mocks/cluster/run-cluster.ts';
import { placeStandIns } from './stand-ins.ts';
import type { KubeParts } from '../../../mocks/kube/start.ts';
import { differencesOf, reportOfHost } from '../../../mocks/lab/make-report.ts';
import {
  type HostOutcome,
  type LabReport,
  outcomeOf,
  reportOf,
} from '../../../mocks/lab/report.ts';
import type { Scenario } from '../../../mocks/lab/scenario.ts';
import type { ShownRun } from '../../../mocks/lab/shown-run.ts';
import { type GuestWorld, openGuestCluster, serveConfigOf, startWorld } from './world.ts';
import {
  doubtsAbout,
  type GuestHost,
  guestHost,
  installLive,
  type GuestRun,
  startsIn,
} from './guest-host.ts';
import type { GuestRunOptions } from './one-master.ts';

/** How a cluster of virtual machines is run. */
interface ClusterRunOptions extends GuestRunOptions {
  /** Name of the scenario. */
  readonly name: string;
  /** All its hosts run. */
  readonly scenario: Scenario;
  /** What its API server is started from. */
  readonly kube: KubeParts;
  /** The bundle that jobs of the cluster run. */
  readonly bundle: string;
}

/** The bootstrap host stays live until the cluster has all that it needs of it. */
const liveSeconds = 5400;

/**
 * After this time the lab gives up: emulated machines may have to share their processors with other
 * work.
 */
const limitMillis = 7_200_000;

/** Runs a cluster of virtual machines to its end and gives the report. */
export async function runClusterInGuests(options: ClusterRunOptions): Promise<LabReport> {
  const { name, scenario, watch } = options;
  const over = new AbortController();
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-lab-'));
  const guests = await prepareGuests(folder);
  const mirrorFolder = join(folder, 'bootstrap-mirror');
  await mkdir(mirrorFolder);
  await using world = await startWorld({ scenario, imagePath: guests.image.path, mirrorFolder });
  const hosts = world.outsides.map(({ host }) => guestHost(host));
  const place = { scenario, parts: options.kube, bundle: options.bundle, folder };
  await using started = await openGuestCluster(world, hosts, place);
  const { cluster } = started;
  if (cluster === undefined) throw new RangeError(`${name} has no cluster`);
  serveConfigOf(world, cluster);
  const lab = { inventory: { store: world.store }, cluster };
  const title = `${name} in virtual machines by ${options.firmware}`;
  const machines = hosts.map((host, index) => ({
    ...partOf(options, { world, guests }, index),
    host,
  }));
  const planOf = async (name: string): Promise<Plan> => {
    const machine = machines.find(({ host }) => host.plan.name === name);
    return planOfInstall(machine?.install ?? { runs: [] });
  };
  const run = { name: title, lab, hosts, planOf, startedAt: Date.now(), folder };
  const endWatching = watch(run);
  const signal = AbortSignal.any([options.signal, over.signal, AbortSignal.timeout(limitMillis)]);
  const runMachine = async (machine: (typeof machines)[number]): Promise<void> => {
    const { host } = machine;
    await runOne({ ...machine, folder, cluster, signal });
    // Without one of its hosts the cluster would never be done.
    if (host.outcome !== 'done') over.abort(new Error(`${host.plan.name} is not a node`));
  };
  let complaints: readonly string[];
  try {
    await Promise.all(machines.map(runMachine));
  } finally {
    complaints = await started.end();
    endWatching();
  }
  return finalReport(options, run, { world, complaints });
}

/** Runs one machine and records its outcome. Never rejects. */
async function runOne(member: MemberRun): Promise<void> {
  const { host, signal } = member;
  try {
    host.outcome = await runMember(member);
  } catch (error) {
    host.outcome = signal.aborted ? 'unfinished' : 'failed';
    const message = error instanceof Error ? error.message : String(error);
    if (!signal.aborted) host.failure ??= { code: 'lab', message };
  }
  host.endedAt = Date.now();
}

interface Parts {
  readonly world: GuestWorld;
  readonly guests: PreparedGuests;
}

/** Disk, firmware and agent of one machine. */
function partOf(
  { firmware }: ClusterRunOptions,
  { world, guests }: Parts,
  index: number,
): Pick<MemberRun, 'install' | 'outside' | 'prefix' | 'liveSeconds'> {
  const outside = outsideAt(world, index);
  const { hostname, role, isBootstrap } = outside.host;
  const at = (name: string): string => join(guests.folder, `${hostname}-${name}`);
  createBlankDisk(at('target.raw'), targetMiB);
  const settings = {
    'image.url': world.imageUrl,
    'image.sha256': guests.image.sha256,
    ...(isBootstrap ? { 'images.self': 'registry.example.test/controller:1' } : {}),
  };
  const kind = isBootstrap ? 'bootstrap' : role === 'arbiter' ? 'arbiter' : 'master';
  const install: LiveInstall = {
    firmware,
    ...(firmware === 'uefi' ? { variables: at('uefi-variables.fd') } : {}),
    target: at('target.raw'),
    agentDisk: guests.agentDisk,
    before: placeStandIns(kind, world.desk),
    runs: [{ outside, settings }],
  };
  return { install, outside, prefix: `${hostname}-`, liveSeconds };
}

function outsideAt({ outsides }: GuestWorld, index: number): Outside {
  const outside = outsides[index];
  if (outside === undefined) throw new RangeError(`there is no host ${index}`);
  return outside;
}

function finalReport(
  { scenario }: ClusterRunOptions,
  run: Omit<ShownRun, 'hosts'> & { readonly hosts: readonly GuestHost[] },
  { world, complaints }: { readonly world: GuestWorld; readonly complaints: readonly string[] },
): LabReport {
  const { name, startedAt } = run;
  const { store, inventory } = world;
  const hosts = run.hosts.map((host) => reportOfHost(host, store, startedAt));
  const differences = differencesOf(scenario, { outcome: outcomeOf(hosts), hosts }, complaints);
  return reportOf({
    name,
    startedAt,
    hosts,
    differences,
    inventory: { store, requests: inventory.requests },
  });
}

// One virtual machine of a cluster, from its live system to its node.

/** A virtual machine that becomes a node of a cluster. */
interface MemberRun extends GuestRun {
  readonly cluster: Pick<RunningCluster, 'emit'>;
}

/** An emulated guest on a machine that does other work as well. */
const diskSeconds = 2400;
const POLL_INTERVAL_MILLIS = 100;

/**
 * Runs a machine to its end.
 * @throws GuestError when the machine ends early or takes too long
 */
async function runMember(run: MemberRun): Promise<HostOutcome> {
  const { host, cluster } = run;
  if (!(await installLive(run))) return 'failed';
  host.phase = 'starts from its own disk';
  host.boots += 1;
  cluster.emit({ kind: 'rebooted', host: host.plan.name });
  const doubts = await firstStart(run);
  if (doubts.length > 0) {
    host.failure = { code: 'lab.first-boot', message: doubts.join('; ') };
    return 'failed';
  }
  cluster.emit({ kind: 'configured-due', host: host.plan.name });
  await untilSettled(run);
  return run.outside.inventory.store.host(host.hostId)?.stage === 'Done' ? 'done' : 'stopped';
}

/**
 * Starts the installed disk; what is not as it should be then. The machine is switched off after it
 * has told.
 */
async function firstStart(run: MemberRun): Promise<readonly string[]> {
  const { install, outside, host, folder, prefix = '', signal } = run;
  const { firmware, variables, target } = install;
  const machine = { firmware, target, ...(variables === undefined ? {} : { variables }) };
  const { report } = await bootInstalled(machine, outside, {
    folder,
    name: `${prefix}disk`,
    deadlineSeconds: diskSeconds,
    signal,
  });
  host.boots = startsIn(report) ?? host.boots;
  return doubtsAbout(report, { hostname: host.plan.name, proof: proofLine });
}

/** Waits until the controller has said the last word about a host, or the service gave it up. */
async function untilSettled({ outside, host: { hostId }, signal }: MemberRun): Promise<void> {
  const { store } = outside.inventory;
  const isOpen = (): boolean => {
    const host = store.host(hostId);
    return host !== undefined && host.stage !== 'Done' && host.status !== 'error';
  };
  while (isOpen()) await sleep(POLL_INTERVAL_MILLIS, undefined, { signal });
}
