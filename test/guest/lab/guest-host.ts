// One virtual machine from its live system to the first start from its own disk.
import { bootInstalled } from '../install/first-boot.ts';
import { eventsIn } from '../install/job-log.ts';
import { type LiveInstall, startLiveInstall } from '../install/live-install.ts';
import type { Outside } from '../install/outside.ts';
import { deadlineSeconds, targetMiB } from '../install/prepare.ts';
import type { Guest } from '../rig/guest.ts';
import { usualMemoryMiB } from '../rig/qemu-argv.ts';
import type { HostRecord } from '../../../mocks/inventory/records.ts';
import { stepsAfter } from '../../../src/engine/run-steps.ts';
import { failedBy, type LabHost } from '../../../mocks/lab/lab-host.ts';
import type { HostOutcome } from '../../../mocks/lab/report.ts';
import type { ShownHost } from '../../../mocks/lab/shown-run.ts';

/** A virtual machine in a run, with everything that is known of it. */
export type GuestHost = ShownHost &
  Pick<LabHost, 'steps' | 'phase' | 'outcome' | 'failure' | 'boots' | 'endedAt'> & {
    /** The report of the installed system at its first boot; empty until then. */
    firstReport: string;
  };

/** One virtual machine and the settings of its installation. */
interface GuestRun {
  readonly install: LiveInstall;
  readonly outside: Outside;
  readonly host: GuestHost;
  /** For the logs of the machine. */
  readonly folder: string;
  /** How long the machine may run from its medium. */
  readonly liveSeconds?: number;
  readonly signal: AbortSignal;
}

const POLL_INTERVAL_MILLIS = 250;

const gigabytes = (mebibytes: number): string => `${((mebibytes * 2 ** 20) / 1e9).toFixed(1)} GB`;

/** A machine that has not been started. */
export const guestHost = ({ hostname, role, isBootstrap, id }: HostRecord): GuestHost => ({
  plan: { name: hostname, role: isBootstrap ? 'bootstrap' : role },
  hardware: `virtual machine, ${gigabytes(usualMemoryMiB)} memory, ${gigabytes(targetMiB)} disk`,
  hostId: id,
  events: [],
  steps: {},
  phase: 'starts from the live medium',
  outcome: undefined,
  failure: undefined,
  boots: 0,
  endedAt: undefined,
  firstReport: '',
});

/**
 * Runs a machine to its end.
 * @throws GuestError when the machine ends early or takes too long
 */
export async function runGuest(run: GuestRun): Promise<HostOutcome> {
  if (!(await installLive(run))) return 'failed';
  await startInstalled(run);
  return 'done';
}

/**
 * Whether the agent left the host, which rebooted then.
 * @throws GuestError when the machine ends early or takes too long
 */
async function installLive(run: GuestRun): Promise<boolean> {
  const { install, host, folder, signal } = run;
  await using guest = await startLiveInstall(install, folder, 'live');
  const stop = (): void => void guest.powerCut();
  signal.addEventListener('abort', stop);
  const read = progressReader(guest, host);
  const looking = setInterval(read, POLL_INTERVAL_MILLIS);
  try {
    const failed = await untilGone(guest, run.liveSeconds ?? deadlineSeconds);
    read();
    if (failed === undefined && hasLeft(host)) return true;
    const code = failed?.toLowerCase() ?? 'rebooted too early';
    host.failure = failedBy(host) ?? { code, message: guest.job.path };
    return false;
  } finally {
    clearInterval(looking);
    signal.removeEventListener('abort', stop);
  }
}

/** Reads the events of the agent since the last call. */
function progressReader({ job }: Guest, host: GuestHost): () => void {
  let read = 0;
  return () => {
    const events = eventsIn(job.text());
    for (const event of events.slice(read)) {
      host.events.push(event);
      host.steps = stepsAfter(host.steps, event);
    }
    read = events.length;
  };
}

/** A reboot at once takes the last words of the agent and of the job with it. */
const hasLeft = (host: GuestHost): boolean =>
  failedBy(host) === undefined && host.steps['finish/leave-host'] !== undefined;

/** Waits until the machine has rebooted; the last line of an agent that failed, if one did. */
async function untilGone(guest: Guest, seconds: number): Promise<string | undefined> {
  const gone = guest.ended(seconds).then(() => undefined);
  // Without such a line the wait for it fails at the end of the machine.
  const failed = guest.job.waitForLine(/^EXIT [1-9]\d*$/, seconds).catch(() => gone);
  const end = Promise.race([failed, gone]);
  // Of the two the later one may be an error, of a machine that is ended here.
  Promise.all([failed, gone]).catch(() => undefined);
  return end;
}

/**
 * A client of the Machine Config Server is an installed system that applies its Ignition.
 */
async function startInstalled(run: GuestRun): Promise<void> {
  const { install, outside, host, folder, signal } = run;
  const { firmware, variables, target } = install;
  const { store } = outside.inventory;
  const { requests } = outside.machineConfigServer;
  // An agent that writes the final system has asked too.
  const asked = requests.length;
  const report = (stage: string): void => {
    store.report(host.hostId, { stage, info: '' }, 'v2');
  };
  host.boots += 1;
  host.phase = 'starts from its own disk';
  const looking = setInterval(() => {
    if (requests.length === asked) return;
    clearInterval(looking);
    host.phase = 'applies its Ignition';
    report('Configuring');
  }, POLL_INTERVAL_MILLIS);
  const machine = { firmware, target, ...(variables === undefined ? {} : { variables }) };
  try {
    const place = { folder, name: 'disk', deadlineSeconds, signal };
    host.firstReport = (await bootInstalled(machine, outside, place)).report;
    host.boots = startsIn(host.firstReport) ?? host.boots;
  } finally {
    clearInterval(looking);
  }
  for (const stage of ['Joined', 'Done']) report(stage);
}

// The report of an installed system at its first boot.

/** The content that the report must have. */
interface Expected {
  readonly hostname: string;
  /** The line of the unit that came with the Ignition. */
  readonly proof: string;
}

const valueOf = (report: string, fact: string): string | undefined =>
  new RegExp(`^LABCOREOS ${fact}: (.*)$`, 'm').exec(report)?.[1];

/** How often the system has started from this disk; undefined when it does not say. */
export function startsIn(report: string): number | undefined {
  const starts = Number(valueOf(report, 'boots'));
  return Number.isInteger(starts) && starts > 0 ? starts : undefined;
}

/** The image that the system was deployed from; undefined when it does not say. */
export const originIn = (report: string): string | undefined =>
  valueOf(report, 'origin')?.replace(/^ostree-[a-z-]+:/, '');

/** The differences between the report of a first start and the expected one. */
export function doubtsAbout(report: string, { hostname, proof }: Expected): readonly string[] {
  const name = valueOf(report, 'hostname') ?? 'nothing';
  const commandLine = valueOf(report, 'cmdline') ?? '';
  return [
    ...(report.split('\n').includes(proof) ? [] : ['its Ignition was not applied']),
    ...(name === hostname ? [] : [`it calls itself ${name}`]),
    ...(commandLine.includes('ignition.firstboot') ? [] : ['it was not its first boot']),
  ];
}
