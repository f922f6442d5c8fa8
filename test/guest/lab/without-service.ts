// Installs a virtual machine as somebody does who has a web server beside a rack, and no service.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LabOptions } from '../../../mocks/lab/options.ts';
import { stopSignal } from '../../../mocks/lab/show.ts';
import { agentImageBase } from '../../../scripts/parts/agent-image.ts';
import { ensureParts } from '../../../scripts/parts/ensure.ts';
import { qemu } from '../../../scripts/parts/guest.ts';
import { networkLive } from '../../../scripts/parts/network-live.ts';
import { osDisk } from '../../../scripts/parts/os-disk.ts';
import { proofLine } from '../install/ignition.ts';
import { bootWorker, installFromNetwork } from '../network/network-install.ts';
import { openNetworkSite } from '../network/network-site.ts';
import type { SerialLog } from '../rig/serial-log.ts';
import { doubtsAbout } from './guest-host.ts';
import { progressIn } from './live-progress.ts';

const POLL_INTERVAL_MILLIS = 250;

const introduction = `A virtual machine starts from the network by deploy/pxe/boot.ipxe, gets deploy/host/install-worker.ign,
and installs itself with deploy/host/config/worker.yaml: no service, and the files as they are.

`;

/** Installs the machine, prints how far it is, and gives the exit code. */
export async function runWithoutService({ keeps }: Pick<LabOptions, 'keeps'>): Promise<number> {
  const { stdout } = process;
  stdout.write(introduction);
  await ensureParts([qemu, networkLive, osDisk, agentImageBase]);
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-lab-'));
  const signal = stopSignal();
  const startedAt = Date.now();
  const print = (text: string): void => {
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
    stdout.write(`${seconds.padStart(6)} s  ${text}\n`);
  };
  print('builds the image of the agent');
  try {
    await using site = await openNetworkSite(folder);
    const install = await installFromNetwork(site, 'ipxe', {
      signal,
      onLive: (console) => followed(console, print),
    });
    print('the machine starts from its own disk');
    const boot = await bootWorker(site, install, { signal });
    const doubts = doubtsAbout(boot.report, { hostname: 'network-0', proof: proofLine });
    for (const doubt of doubts) print(`not as expected: ${doubt}`);
    if (doubts.length === 0) print('it runs the installed system, with the Ignition of a worker');
    return doubts.length === 0 ? 0 : 1;
  } finally {
    if (keeps) stdout.write(`disk and consoles of the machine: ${folder}\n`);
    else await rm(folder, { recursive: true, force: true });
  }
}

/** Prints what a console tells until the function that comes back is called. */
function followed(console: SerialLog, print: (text: string) => void): () => void {
  let printed = 0;
  const printNew = (): void => {
    const lines = progressIn(console.text());
    for (const line of lines.slice(printed)) print(line);
    printed = lines.length;
  };
  const looking = setInterval(printNew, POLL_INTERVAL_MILLIS);
  return () => {
    clearInterval(looking);
    printNew();
  };
}
