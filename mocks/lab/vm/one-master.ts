// Installs a virtual machine: the same program, the same service, and a disk, a firmware and a coreos-installer that
// are real.
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LayeredImage } from '../../../test/guest/install/guest-registry.ts';
import { proofLine } from '../../../test/guest/install/ignition.ts';
import { serveImage } from '../../../test/guest/install/image-server.ts';
import type { LiveInstall } from '../../../test/guest/install/live-install.ts';
import { gateway, type Outside, startOutside } from '../../../test/guest/install/outside.ts';
import { type PlayStage, prepareStage, targetMiB } from '../../../test/guest/install/stage.ts';
import { createBlankDisk } from '../../../test/guest/rig/disks.ts';
import type { Firmware } from '../../../test/guest/rig/qemu-argv.ts';
import { type HostReport, type LabReport, outcomeOf } from '../report.ts';
import type { ShownStage } from '../table.ts';
import {
  doubtsAbout,
  type GuestSeat,
  guestSeat,
  hostReportOf,
  originIn,
  playGuest,
} from './guest-host.ts';
import { type OsBuild, startOsBuild } from './os-build.ts';
import type { OsOrder } from './plan.ts';

/** How a virtual machine is installed. */
export interface GuestPlay {
  readonly firmware: Firmware;
  /** Ends the play early. */
  readonly signal: AbortSignal;
  /** Called before the machine is started; gives what ends the watching. */
  readonly watch: (stage: ShownStage & { readonly folder: string }) => () => void;
}

/** How one master is installed. */
interface MasterPlay extends GuestPlay {
  /** Its operating system is built from this, and not that of the release. */
  readonly order: OsOrder | undefined;
}

/** The machine waits for its image, and a build beside it takes its time. */
const liveSecondsWithBuild = 3600;

/** Installs one master in a virtual machine, to its first start from its own disk. */
export async function playInGuest(play: MasterPlay): Promise<LabReport> {
  const { firmware, order, watch } = play;
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-lab-'));
  const ground = await prepareStage(folder);
  const over = new AbortController();
  await using build =
    order === undefined
      ? undefined
      : await startOsBuild({
          order,
          folder,
          onFailure: () => {
            over.abort(new Error('there is no image to install'));
          },
        });
  await using outside = await startOutside('m1', build?.finalOs);
  await using images = await serveImage(ground.image.path);
  const seat = guestSeat(outside.host);
  const name = `virtual machine by ${firmware}`;
  const lab = { name, lab: outside, seats: [seat], beside: build?.doing };
  const stage = { ...lab, startedAt: Date.now(), folder };
  const endWatching = watch(stage);
  const signal = AbortSignal.any([play.signal, over.signal]);
  const imageUrl = `http://${gateway}:${images.port}${images.path}`;
  const install = installOf(play, { ground, outside, imageUrl, build });
  const liveSeconds = build === undefined ? {} : { liveSeconds: liveSecondsWithBuild };
  try {
    seat.outcome = await playGuest({ install, outside, seat, folder, signal, ...liveSeconds });
  } catch (error) {
    seat.outcome = play.signal.aborted ? 'unfinished' : 'failed';
    const message = error instanceof Error ? error.message : String(error);
    seat.failure = build?.failure() ?? { code: 'lab', message };
  } finally {
    seat.endedAt = Date.now();
    endWatching();
  }
  return reportOf(stage, { seat, outside, build });
}

interface Site {
  readonly ground: PlayStage;
  readonly outside: Outside;
  /** As guests see it. */
  readonly imageUrl: string;
  readonly build: OsBuild | undefined;
}

/** Disk, firmware and agent of the machine. One whose image is built writes it before its first boot. */
function installOf({ firmware }: MasterPlay, site: Site): LiveInstall {
  const { ground, outside, imageUrl, build } = site;
  const at = (name: string): string => join(ground.folder, name);
  createBlankDisk(at('target.raw'), targetMiB);
  const settings = { 'image.url': imageUrl, 'image.sha256': ground.image.sha256 };
  const run = { outside, settings };
  return {
    firmware,
    ...(firmware === 'uefi' ? { variables: at('uefi-variables.fd') } : {}),
    target: at('target.raw'),
    agentDisk: ground.agentDisk,
    ...(build === undefined
      ? { runs: [run] }
      : { before: build.before, runs: [{ ...run, words: ['--enable-skip-mco-reboot'] }] }),
  };
}

interface Played {
  readonly seat: GuestSeat;
  readonly outside: Outside;
  readonly build: OsBuild | undefined;
}

function reportOf(
  { name, startedAt }: ShownStage,
  { seat, outside: { inventory }, build }: Played,
): LabReport {
  const { firstReport } = seat;
  const system = build === undefined ? undefined : originIn(firstReport);
  const stage = inventory.store.host(seat.hostId)?.stage;
  const host = hostReportOf(seat, { startedAt, stage, system });
  const built = build?.image();
  const isDone = seat.outcome === 'done';
  const differences = [
    ...(isDone ? [] : [`${host.name}: ${host.outcome} instead of done`]),
    ...(isDone && build !== undefined
      ? differencesFromBuilt(host, { image: built?.image, firstReport })
      : []),
  ];
  return {
    scenario: name,
    outcome: outcomeOf([host]),
    isAsExpected: differences.length === 0,
    differences,
    seconds: (Date.now() - startedAt) / 1000,
    clusterStatus: inventory.store.cluster().status,
    requests: inventory.requests.length,
    faults: 0,
    ...(built === undefined ? {} : { layering: layeringOf(built) }),
    hosts: [host],
  };
}

const layeringOf = ({ image, newBytes, pulled }: LayeredImage): LabReport['layering'] => ({
  images: [{ pool: 'master', image, newBytes, pulledBytes: pulled() }],
  registries: [],
});

// Whether a virtual machine runs what was built for it.

/** What was built, and what the machine said of itself at its first start. */
interface BuiltFor {
  /** As nodes know it; undefined when it never came. */
  readonly image: string | undefined;
  readonly firstReport: string;
}

/** How an installed machine differs from one that booted once, straight into the image that was built for it. */
export function differencesFromBuilt(
  { name, boots, system }: Pick<HostReport, 'name' | 'boots' | 'system'>,
  { image, firstReport }: BuiltFor,
): readonly string[] {
  const doubts = doubtsAbout(firstReport, { hostname: name, proof: proofLine });
  return [
    ...(image === undefined ? ['no image was built'] : []),
    ...(image === undefined || system === image
      ? []
      : [`${name}: runs ${system ?? 'nothing that it names'} instead of ${image}`]),
    ...(boots === 1 ? [] : [`${name}: ${boots} boots instead of 1`]),
    ...doubts.map((doubt) => `${name}: ${doubt}`),
  ];
}
