// Installs a virtual machine as somebody does who has a web server beside a rack, and no service.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { RunEvent } from '../../../src/engine/events.ts';
import { eventLine } from '../../../src/page/event-line.ts';
import { planOfAgent } from '../../../mocks/lab/agent.ts';
import type { LabOptions } from '../../../mocks/lab/options.ts';
import { type LabPage, openLabPage, railOfPlan } from '../../../mocks/lab/page.ts';
import type { LabReport } from '../../../mocks/lab/report.ts';
import { leavePage, stopSignal } from '../../../mocks/lab/show.ts';
import { agentBase } from '../../../scripts/parts/agent-base.ts';
import { ensureParts } from '../../../scripts/parts/ensure.ts';
import { networkLive, qemu } from '../../../scripts/parts/scripted.ts';
import { osDisk } from '../../../scripts/parts/os-disk.ts';
import { proofLine } from '../install/ignition.ts';
import { eventsIn } from '../install/job-log.ts';
import { bootWorker, installFromNetwork } from '../network/network-install.ts';
import { openNetworkSite } from '../network/network-site.ts';
import type { Guest } from '../rig/guest.ts';
import { doubtsAbout } from './guest-host.ts';

const POLL_INTERVAL_MILLIS = 250;

const hostname = 'network-0';
const about = `A virtual machine starts from the network by deploy/pxe/boot.ipxe, gets deploy/host/install-worker.ign,
and installs itself with deploy/host/config/worker.yaml: no service, and the files unchanged but for
the disk and the digest of the image.`;
const config = resolve(import.meta.dirname, '../../../deploy/host/config/worker.yaml');

/**
 * Installs the machine, prints how far it is, shows it on a page where that is wanted, and gives
 * the exit code.
 */
export async function runWithoutService({
  keeps,
  isPage,
  pageFile,
}: Pick<LabOptions, 'keeps' | 'isPage' | 'pageFile'>): Promise<number> {
  const { stdout } = process;
  stdout.write(`${about}\n\n`);
  await ensureParts([qemu, networkLive, osDisk, agentBase()]);
  const signal = stopSignal();
  const startedAt = Date.now();
  const print = (text: string): void => {
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
    stdout.write(`${seconds.padStart(6)} s  ${text}\n`);
  };
  const heading = { title: 'A worker without a service', about };
  await using page = await openLabPage(heading, { isServed: isPage, file: pageFile });
  if (page.url !== undefined) stdout.write(`page: ${page.url}\n\n`);
  const shown = await showMachine(page);
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-lab-'));
  print('builds the image of the agent');
  try {
    await using site = await openNetworkSite(folder);
    shown.isAt('starts from the network');
    print('the machine starts from the network');
    const install = await installFromNetwork(site, 'ipxe', {
      signal,
      onLive: (guest) => followed(guest, { print, shown }),
    });
    print('the machine starts from its own disk');
    shown.isAt('starts from its own disk');
    const boot = await bootWorker(site, install, { signal });
    const doubts = doubtsAbout(boot.report, { hostname, proof: proofLine });
    for (const doubt of doubts) print(`not as expected: ${doubt}`);
    if (doubts.length === 0) print('it runs the installed system, with the Ignition of a worker');
    await shown.end(doubts.length === 0 ? 'installed' : 'failed', doubts);
    await leavePage(page, signal);
    return doubts.length === 0 ? 0 : 1;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    await shown.end(signal.aborted ? 'unfinished' : 'failed', [why]);
    throw error;
  } finally {
    if (keeps) stdout.write(`disk and consoles of the machine: ${folder}\n`);
    else await rm(folder, { recursive: true, force: true });
  }
}

type Shown = Awaited<ReturnType<typeof showMachine>>;

/** Shows the machine on a page, as a rail of its plan. */
async function showMachine({ update, end }: LabPage) {
  const host = hostname;
  const rail = railOfPlan(await planOfAgent(['--config', config], {}), []);
  update({ kind: 'host', at: Date.now(), id: host, name: host, role: 'worker', rail });
  /** Its activity while no agent runs on it. */
  const isAt = (phase: string): void => {
    update({ kind: 'phase', at: Date.now(), host, phase });
  };
  return {
    isAt,
    emitted: (event: RunEvent): void => {
      isAt('');
      update({ kind: 'event', at: event.at, host, event });
    },
    /** Shows the outcome with the differences, and saves the page. */
    end: async (outcome: LabReport['outcome'], differences: readonly string[]): Promise<void> => {
      const isAsExpected = outcome === 'installed';
      const text = isAsExpected ? 'runs the installed system' : differences.join('; ');
      update({ kind: 'host-end', at: Date.now(), host, isGood: isAsExpected, text });
      await end({ outcome, clusterStatus: '', operators: [], isAsExpected, differences });
    },
  };
}

/** Reports what the agent of a machine does until the function that comes back is called. */
function followed(
  { job }: Guest,
  { print, shown }: { readonly print: (text: string) => void; readonly shown: Shown },
): () => void {
  let read = 0;
  const reportNew = (): void => {
    const events = eventsIn(job.text());
    for (const event of events.slice(read)) {
      const line = eventLine(event);
      if (line !== undefined && line.level !== 'debug') print(line.text);
      shown.emitted(event);
    }
    read = events.length;
  };
  const looking = setInterval(reportNew, POLL_INTERVAL_MILLIS);
  return () => {
    clearInterval(looking);
    reportNew();
  };
}
