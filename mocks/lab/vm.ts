// Installs a virtual machine: the same program, the same service, and a disk, a firmware and a coreos-installer that
// are real.
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { agentImageBase } from '../../scripts/parts/agent-image.ts';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { liveRoot } from '../../scripts/parts/live-root.ts';
import { osDisk } from '../../scripts/parts/os-disk.ts';
import { qemu } from '../../scripts/parts/qemu.ts';
import { serveImage } from '../../test/guest/install/image-server.ts';
import type { LiveInstall } from '../../test/guest/install/live-install.ts';
import { gateway, type Outside, startOutside } from '../../test/guest/install/outside.ts';
import { prepareStage, targetMiB } from '../../test/guest/install/stage.ts';
import { createBlankDisk } from '../../test/guest/rig/disks.ts';
import type { Firmware } from '../../test/guest/rig/qemu-argv.ts';
import { type LabReport, outcomeOf } from './report.ts';
import type { ShownStage } from './table.ts';
import { type GuestSeat, guestSeat, hostReportOf, playGuest } from './vm-host.ts';

/** How a virtual machine is installed. */
export interface GuestPlay {
  readonly firmware: Firmware;
  /** Ends the play early. */
  readonly signal: AbortSignal;
  /** Called before the machine is started; gives what ends the watching. */
  readonly watch: (stage: ShownStage & { readonly folder: string }) => () => void;
}

/** Installs one master in a virtual machine, to its first start from its own disk. */
export async function playInGuest({ firmware, signal, watch }: GuestPlay): Promise<LabReport> {
  await ensureParts([osDisk, qemu, liveRoot, agentImageBase]);
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-lab-'));
  const { agentDisk, image } = await prepareStage(folder);
  await using outside = await startOutside('m1');
  await using images = await serveImage(image.path);
  const target = join(folder, 'target.raw');
  createBlankDisk(target, targetMiB);
  const settings = {
    'image.url': `http://${gateway}:${images.port}${images.path}`,
    'image.sha256': image.sha256,
  };
  const install: LiveInstall = {
    firmware,
    ...(firmware === 'uefi' ? { variables: join(folder, 'uefi-variables.fd') } : {}),
    target,
    agentDisk,
    runs: [{ outside, settings }],
  };
  const seat = guestSeat(outside.host);
  const name = `virtual machine by ${firmware}`;
  const stage = { name, lab: outside, seats: [seat], startedAt: Date.now(), folder };
  const endWatching = watch(stage);
  try {
    seat.outcome = await playGuest({ install, outside, seat, folder, signal });
  } catch (error) {
    seat.outcome = signal.aborted ? 'unfinished' : 'failed';
    seat.failure = { code: 'lab', message: error instanceof Error ? error.message : String(error) };
  } finally {
    seat.endedAt = Date.now();
    endWatching();
  }
  return reportOf(stage, seat, outside);
}

function reportOf(
  { name, startedAt }: ShownStage,
  seat: GuestSeat,
  { inventory }: Outside,
): LabReport {
  const host = hostReportOf(seat, { startedAt, stage: inventory.store.host(seat.hostId)?.stage });
  const differences =
    seat.outcome === 'done' ? [] : [`${host.name}: ${host.outcome} instead of done`];
  return {
    scenario: name,
    outcome: outcomeOf([host]),
    isAsExpected: differences.length === 0,
    differences,
    seconds: (Date.now() - startedAt) / 1000,
    clusterStatus: inventory.store.cluster().status,
    requests: inventory.requests.length,
    faults: 0,
    hosts: [host],
  };
}
