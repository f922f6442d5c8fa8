// Installs a virtual machine: the same program, the same service, and a disk, a firmware and a
// coreos-installer that are real.
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LayeredImage } from '../install/guest-registry.ts';
import { proofLine } from '../install/ignition.ts';
import { serveImage } from '../install/image-server.ts';
import { type LiveInstall, planOfInstall } from '../install/live-install.ts';
import { gateway, type Outside, startOutside } from '../install/outside.ts';
import { type PreparedGuests, prepareGuests, targetMiB } from '../install/prepare.ts';
import { createBlankDisk } from '../rig/disks.ts';
import type { Firmware } from '../rig/qemu-argv.ts';
import { reportOfHost } from '../../../mocks/lab/make-report.ts';
import { type HostReport, type LabReport, reportOf } from '../../../mocks/lab/report.ts';
import { completeAlone } from '../../../mocks/lab/run.ts';
import type { ShownRun } from '../../../mocks/lab/shown-run.ts';
import { doubtsAbout, type GuestHost, guestHost, originIn, runGuest } from './guest-host.ts';
import { type OsBuild, type OsBuildRequest, startOsBuild } from './os-build.ts';

/** How a virtual machine is installed. */
export interface GuestRunOptions {
  readonly firmware: Firmware;
  /** Ends the run early. */
  readonly signal: AbortSignal;
  /** Called before the machine is started; gives what ends the watching. */
  readonly watch: (stage: ShownRun & { readonly folder: string }) => () => void;
}

/** How one master is installed. */
interface MasterRunOptions extends GuestRunOptions {
  /** Its operating system is built from this, and not that of the release. */
  readonly request: OsBuildRequest | undefined;
}

/** The machine waits for its image, and a build beside it takes its time. */
const liveSecondsWithBuild = 3600;

/** Installs one master in a virtual machine, to its first start from its own disk. */
export async function runMasterInGuest(options: MasterRunOptions): Promise<LabReport> {
  const { firmware, request, watch } = options;
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-lab-'));
  const guests = await prepareGuests(folder);
  const over = new AbortController();
  await using build =
    request === undefined
      ? undefined
      : await startOsBuild({
          request,
          folder,
          onFailure: () => {
            over.abort(new Error('there is no image to install'));
          },
        });
  await using outside = await startOutside('m1', build?.finalOs);
  await using images = await serveImage(guests.image.path);
  const host = guestHost(outside.host);
  const name = `virtual machine by ${firmware}`;
  const imageUrl = `http://${gateway}:${images.port}${images.path}`;
  const install = installOf(options, { guests, outside, imageUrl, build });
  const shown = {
    name,
    lab: { inventory: outside.inventory },
    hosts: [host],
    planOf: () => planOfInstall(install),
    beside: build?.doing,
  };
  const run = { ...shown, startedAt: Date.now(), folder };
  const endWatching = watch(run);
  const signal = AbortSignal.any([options.signal, over.signal]);
  const liveSeconds = build === undefined ? {} : { liveSeconds: liveSecondsWithBuild };
  try {
    host.outcome = await runGuest({ install, outside, host, folder, signal, ...liveSeconds });
  } catch (error) {
    host.outcome = options.signal.aborted ? 'unfinished' : 'failed';
    const message = error instanceof Error ? error.message : String(error);
    host.failure = build?.failure() ?? { code: 'lab', message };
  } finally {
    host.endedAt = Date.now();
    completeAlone(outside.inventory.store, [host]);
    endWatching();
  }
  return finalReport(run, { host, outside, build });
}

interface Site {
  readonly guests: PreparedGuests;
  readonly outside: Outside;
  /** As guests see it. */
  readonly imageUrl: string;
  readonly build: OsBuild | undefined;
}

/**
 * Disk, firmware and agent of the machine. One whose image is built writes it before its first
 * boot.
 */
function installOf({ firmware }: MasterRunOptions, site: Site): LiveInstall {
  const { guests, outside, imageUrl, build } = site;
  const at = (name: string): string => join(guests.folder, name);
  createBlankDisk(at('target.raw'), targetMiB);
  const settings = { 'image.url': imageUrl, 'image.sha256': guests.image.sha256 };
  const run = { outside, settings };
  return {
    firmware,
    ...(firmware === 'uefi' ? { variables: at('uefi-variables.fd') } : {}),
    target: at('target.raw'),
    agentDisk: guests.agentDisk,
    ...(build === undefined
      ? { runs: [run] }
      : { before: build.before, runs: [{ ...run, words: ['--enable-skip-mco-reboot'] }] }),
  };
}

interface InstalledMaster {
  readonly host: GuestHost;
  readonly outside: Outside;
  readonly build: OsBuild | undefined;
}

function finalReport(
  { name, startedAt }: ShownRun,
  { host, outside: { inventory }, build }: InstalledMaster,
): LabReport {
  const { firstReport } = host;
  const system = build === undefined ? undefined : originIn(firstReport);
  const report = { ...reportOfHost(host, inventory.store, startedAt), system };
  const built = build?.image();
  const isDone = report.outcome === 'done';
  const differences = [
    ...(isDone ? [] : [`${report.name}: ${report.outcome} instead of done`]),
    ...(isDone && build !== undefined
      ? differencesFromBuilt(report, { image: built?.image, firstReport })
      : []),
  ];
  const layering = built && layeringOf(built);
  return reportOf({ name, startedAt, hosts: [report], differences, inventory, layering });
}

const layeringOf = ({ image, newBytes, pulled }: LayeredImage): LabReport['layering'] => ({
  images: [{ pool: 'master', image, newBytes, pulledBytes: pulled() }],
});

// Whether a virtual machine runs what was built for it.

/** The built image, and the report of the machine at its first boot. */
interface BuiltFor {
  /** As nodes know it; undefined when it never came. */
  readonly image: string | undefined;
  readonly firstReport: string;
}

/**
 * How an installed machine differs from one that booted once, straight into the image that was
 * built for it.
 */
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
