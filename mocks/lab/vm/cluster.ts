// A whole cluster of virtual machines: one bootstraps it and becomes its third master.
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bootInstalled } from '../../../test/guest/install/first-boot.ts';
import { proofLine } from '../../../test/guest/install/ignition.ts';
import type { LiveInstall } from '../../../test/guest/install/live-install.ts';
import type { Outside } from '../../../test/guest/install/outside.ts';
import { type PlayStage, prepareStage, targetMiB } from '../../../test/guest/install/stage.ts';
import { createBlankDisk } from '../../../test/guest/rig/disks.ts';
import type { ClusterLife } from '../../cluster/run-cluster.ts';
import { placeStandIns } from '../../guest/stand-ins.ts';
import type { KubeParts } from '../../kube/start.ts';
import type { BornCluster } from '../born-cluster.ts';
import { differencesOf } from '../make-report.ts';
import { type HostOutcome, type LabReport, outcomeOf } from '../report.ts';
import type { Scenario } from '../scenario.ts';
import type { ShownStage } from '../table.ts';
import { type GuestWorld, openGuestCluster, serveConfigOf, startWorld } from './world.ts';
import {
  doubtsAbout,
  type GuestSeat,
  guestSeat,
  hostReportOf,
  installLive,
  type Playing,
  startsIn,
} from './guest-host.ts';
import type { GuestPlay } from './one-master.ts';

/** How a cluster of virtual machines is played. */
interface ClusterPlay extends GuestPlay {
  /** Name of the scenario. */
  readonly name: string;
  /** Its hosts are all played. */
  readonly scenario: Scenario;
  /** What its API server is started from. */
  readonly kube: KubeParts;
  /** The bundle that jobs of the cluster run. */
  readonly bundle: string;
}

/** The bootstrap host stays live until the cluster has all that it needs of it. */
const liveSeconds = 5400;

/** After this time the lab gives up: emulated machines may have to share their processors with other work. */
const limitMillis = 7_200_000;

/** Plays a cluster of virtual machines to its end and tells what came of it. */
export async function playClusterInGuests(play: ClusterPlay): Promise<LabReport> {
  const { name, scenario, watch } = play;
  const over = new AbortController();
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-lab-'));
  const ground = await prepareStage(folder);
  const mirrorFolder = join(folder, 'bootstrap-mirror');
  await mkdir(mirrorFolder);
  await using world = await startWorld({ scenario, imagePath: ground.image.path, mirrorFolder });
  const seats = world.outsides.map(({ host }) => guestSeat(host));
  const place = { scenario, parts: play.kube, bundle: play.bundle, folder };
  await using cluster = await openGuestCluster(world, seats, place);
  const { life } = cluster;
  if (life === undefined) throw new RangeError(`${name} has no cluster`);
  serveConfigOf(world, life);
  const lab = { inventory: { store: world.store }, life };
  const stage = { name: `${name} in virtual machines by ${play.firmware}`, lab, seats };
  const shown = { ...stage, startedAt: Date.now(), folder };
  const endWatching = watch(shown);
  const signal = AbortSignal.any([play.signal, over.signal, AbortSignal.timeout(limitMillis)]);
  const playOne = async (seat: GuestSeat, index: number): Promise<void> => {
    const part = partOf(play, { world, ground }, index);
    await playSeat({ ...part, seat, folder, life, signal });
    // Without one of its hosts the cluster would never be done.
    if (seat.outcome !== 'done') over.abort(new Error(`${seat.plan.name} is not a node`));
  };
  let complaints: readonly string[];
  try {
    await Promise.all(seats.map(playOne));
  } finally {
    complaints = await cluster.end();
    endWatching();
  }
  return reportOf(play, { stage: shown, world, complaints });
}

/** Plays one machine; its outcome is in its seat. Never rejects. */
async function playSeat(member: PlayedMember): Promise<void> {
  const { seat, signal } = member;
  try {
    seat.outcome = await playMember(member);
  } catch (error) {
    seat.outcome = signal.aborted ? 'unfinished' : 'failed';
    const message = error instanceof Error ? error.message : String(error);
    if (!signal.aborted) seat.failure ??= { code: 'lab', message };
  }
  seat.endedAt = Date.now();
}

interface Ground {
  readonly world: GuestWorld;
  readonly ground: PlayStage;
}

/** Disk, firmware and agent of one machine. */
function partOf(
  { firmware }: ClusterPlay,
  { world, ground }: Ground,
  index: number,
): Pick<PlayedMember, 'install' | 'outside' | 'prefix' | 'liveSeconds'> {
  const outside = outsideAt(world, index);
  const { hostname, role, isBootstrap } = outside.host;
  const at = (name: string): string => join(ground.folder, `${hostname}-${name}`);
  createBlankDisk(at('target.raw'), targetMiB);
  const settings = {
    'image.url': world.imageUrl,
    'image.sha256': ground.image.sha256,
    ...(isBootstrap ? { 'images.self': 'registry.example.test/self:1' } : {}),
  };
  const kind = isBootstrap ? 'bootstrap' : role === 'arbiter' ? 'arbiter' : 'master';
  const install: LiveInstall = {
    firmware,
    ...(firmware === 'uefi' ? { variables: at('uefi-variables.fd') } : {}),
    target: at('target.raw'),
    agentDisk: ground.agentDisk,
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

interface Played {
  readonly stage: Omit<ShownStage, 'seats'> & { readonly seats: readonly GuestSeat[] };
  readonly world: GuestWorld;
  readonly complaints: Awaited<ReturnType<BornCluster['end']>>;
}

function reportOf({ scenario }: ClusterPlay, { stage, world, complaints }: Played): LabReport {
  const { name, startedAt, seats } = stage;
  const { store, inventory } = world;
  const hosts = seats.map((seat) =>
    hostReportOf(seat, { startedAt, stage: store.host(seat.hostId)?.stage }),
  );
  const outcome = outcomeOf(hosts);
  const differences = [
    ...differencesOf(scenario, { outcome, hosts }),
    ...complaints.map((what) => `the cluster: ${what}`),
  ];
  return {
    scenario: name,
    outcome,
    isAsExpected: differences.length === 0,
    differences,
    seconds: (Date.now() - startedAt) / 1000,
    clusterStatus: store.cluster().status,
    requests: inventory.requests.length,
    faults: 0,
    hosts,
  };
}

// One virtual machine of a cluster, from its live system to its node.

/** A virtual machine that becomes a node of a cluster. */
interface PlayedMember extends Playing {
  readonly life: Pick<ClusterLife, 'happen'>;
}

/** An emulated guest on a machine that does other work as well. */
const diskSeconds = 2400;
const LOOK_EVERY_MILLIS = 100;

/**
 * Plays a machine to its end.
 * @throws GuestError when the machine ends early or takes too long
 */
async function playMember(playing: PlayedMember): Promise<HostOutcome> {
  const { seat, life } = playing;
  if (!(await installLive(playing))) return 'failed';
  const host = seat.plan.name;
  seat.phase = 'starts from its own disk';
  seat.boots += 1;
  life.happen({ kind: 'rebooted', host });
  const doubts = await firstStart(playing);
  if (doubts.length > 0) {
    seat.failure = { code: 'lab.first-boot', message: doubts.join('; ') };
    return 'failed';
  }
  life.happen({ kind: 'configured-due', host });
  await untilSettled(playing);
  return playing.outside.inventory.store.host(seat.hostId)?.stage === 'Done' ? 'done' : 'stopped';
}

/** Starts the installed disk; what is not as it should be then. The machine is switched off after it has told. */
async function firstStart(playing: PlayedMember): Promise<readonly string[]> {
  const { install, outside, seat, folder, prefix = '', signal } = playing;
  const { firmware, variables, target } = install;
  const machine = { firmware, target, ...(variables === undefined ? {} : { variables }) };
  const { report } = await bootInstalled(machine, outside, {
    folder,
    name: `${prefix}disk`,
    deadlineSeconds: diskSeconds,
    signal,
  });
  seat.boots = startsIn(report) ?? seat.boots;
  return doubtsAbout(report, { hostname: seat.plan.name, proof: proofLine });
}

/** Waits until the controller has said the last word about a host, or the service gave it up. */
async function untilSettled({ outside, seat, signal }: PlayedMember): Promise<void> {
  const { store } = outside.inventory;
  const isOpen = (): boolean => {
    const host = store.host(seat.hostId);
    return host !== undefined && host.stage !== 'Done' && host.status !== 'error';
  };
  while (isOpen()) await sleep(LOOK_EVERY_MILLIS, undefined, { signal });
}
