// One virtual machine from its live system to the first start from its own disk.
import { bootInstalled } from '../../../test/guest/install/first-boot.ts';
import { eventsIn } from '../../../test/guest/install/job-log.ts';
import { type LiveInstall, startLiveInstall } from '../../../test/guest/install/live-install.ts';
import type { Outside } from '../../../test/guest/install/outside.ts';
import { deadlineSeconds } from '../../../test/guest/install/stage.ts';
import type { Guest } from '../../../test/guest/rig/guest.ts';
import type { HostRecord } from '../../inventory/records.ts';
import { afterEvent, noProgress } from '../host-progress.ts';
import type { Seat } from '../lab-host.ts';
import type { HostOutcome, HostReport } from '../report.ts';
import type { ShownSeat } from '../table.ts';

/** A virtual machine in a play, with everything that is known of it. */
export type GuestSeat = ShownSeat &
  Pick<Seat, 'progress' | 'phase' | 'outcome' | 'failure' | 'boots' | 'endedAt' | 'agentStarts'> & {
    /** Commands that the agent ran. */
    commands: number;
    /** What the installed system said of itself at its first start; empty until then. */
    firstReport: string;
  };

/** One virtual machine and what it is installed with. */
export interface Playing {
  readonly install: LiveInstall;
  readonly outside: Outside;
  readonly seat: GuestSeat;
  /** For the logs of the machine. */
  readonly folder: string;
  /** What the names of its logs begin with; none where it is the only machine. */
  readonly prefix?: string;
  /** How long the machine may run from its medium. */
  readonly liveSeconds?: number;
  readonly signal: AbortSignal;
}

const LOOK_EVERY_MILLIS = 250;

/** A machine that has not been started. */
export const guestSeat = ({ hostname, role, isBootstrap, id }: HostRecord): GuestSeat => ({
  plan: { name: hostname, role: isBootstrap ? 'bootstrap' : role },
  hostId: id,
  progress: noProgress,
  phase: 'starts from the live medium',
  outcome: undefined,
  failure: undefined,
  boots: 0,
  endedAt: undefined,
  agentStarts: 0,
  commands: 0,
  firstReport: '',
});

/**
 * Plays a machine to its end.
 * @throws GuestError when the machine ends early or takes too long
 */
export async function playGuest(playing: Playing): Promise<HostOutcome> {
  if (!(await installLive(playing))) return 'failed';
  await startInstalled(playing);
  return 'done';
}

/**
 * Whether the agent left the host, which rebooted then.
 * @throws GuestError when the machine ends early or takes too long
 */
export async function installLive(playing: Playing): Promise<boolean> {
  const { install, seat, folder, prefix = '', signal } = playing;
  await using guest = await startLiveInstall(install, folder, `${prefix}live`);
  const stop = (): void => void guest.powerCut();
  signal.addEventListener('abort', stop);
  const look = lookAt(guest, seat);
  const looking = setInterval(look, LOOK_EVERY_MILLIS);
  try {
    const failed = await untilGone(guest, playing.liveSeconds ?? deadlineSeconds);
    look();
    if (failed === undefined && hasLeft(seat)) return true;
    const code = failed?.toLowerCase() ?? 'rebooted too early';
    seat.failure = seat.progress.failure ?? { code, message: guest.job.path };
    return false;
  } finally {
    clearInterval(looking);
    signal.removeEventListener('abort', stop);
  }
}

/** Takes in what the agent has told since the last look. */
function lookAt({ job }: Guest, seat: GuestSeat): () => void {
  let told = 0;
  return () => {
    const events = eventsIn(job.text());
    for (const event of events.slice(told)) {
      seat.progress = afterEvent(seat.progress, event);
      if (event.type === 'run.started') seat.agentStarts += 1;
      if (event.type === 'command.started') seat.commands += 1;
    }
    told = events.length;
  };
}

/** A reboot at once takes the last words of the agent and of the job with it. */
const hasLeft = ({ progress }: GuestSeat): boolean =>
  progress.failure === undefined && progress.titles['finish/leave-host'] !== undefined;

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

/** Whoever asks the Machine Config Server is a system that was installed and applies its Ignition. */
async function startInstalled(playing: Playing): Promise<void> {
  const { install, outside, seat, folder, prefix = '', signal } = playing;
  const { firmware, variables, target } = install;
  const { store } = outside.inventory;
  const { requests } = outside.machineConfigServer;
  // An agent that writes the final system has asked too.
  const asked = requests.length;
  const report = (stage: string): void => {
    store.report(seat.hostId, { stage, info: '' }, 'v2');
  };
  seat.boots += 1;
  seat.phase = 'starts from its own disk';
  const looking = setInterval(() => {
    if (requests.length === asked) return;
    clearInterval(looking);
    seat.phase = 'applies its Ignition';
    report('Configuring');
  }, LOOK_EVERY_MILLIS);
  const machine = { firmware, target, ...(variables === undefined ? {} : { variables }) };
  try {
    const name = `${prefix}disk`;
    const place = { folder, name, deadlineSeconds, signal };
    seat.firstReport = (await bootInstalled(machine, outside, place)).report;
    seat.boots = startsIn(seat.firstReport) ?? seat.boots;
  } finally {
    clearInterval(looking);
  }
  for (const stage of ['Joined', 'Done']) report(stage);
}

/** What others know of a machine. */
interface Told {
  readonly startedAt: number;
  readonly stage: string | undefined;
  /** What it runs, where its operating system was built. */
  readonly system?: string | undefined;
}

/** What happened on the machine, for the report. */
export function hostReportOf(seat: GuestSeat, { startedAt, stage = '', system }: Told): HostReport {
  const { plan, progress, failure } = seat;
  const { steps } = progress;
  return {
    name: plan.name,
    role: plan.role,
    outcome: seat.outcome ?? 'unfinished',
    stage,
    boots: seat.boots,
    ...(system === undefined ? {} : { system }),
    agentStarts: seat.agentStarts,
    seconds: rounded(((seat.endedAt ?? Date.now()) - startedAt) / 1000),
    waited: progress.waits.map((wait) => ({ ...wait, seconds: rounded(wait.seconds) })),
    steps: steps
      .map(({ step, seconds }) => ({ step, seconds: rounded(seconds) }))
      .toSorted((one, other) => other.seconds - one.seconds),
    writes: steps.filter(({ step }) => step === 'image/write').length,
    commands: seat.commands,
    unknownCommands: [],
    ...(failure === undefined ? {} : { failure }),
  };
}

const rounded = (seconds: number): number => Math.round(seconds * 100) / 100;

// What an installed system says of itself at its first start.

/** What has to stand in the report. */
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

/** What in the report of a first start is not as it should be. */
export function doubtsAbout(report: string, { hostname, proof }: Expected): readonly string[] {
  const name = valueOf(report, 'hostname') ?? 'nothing';
  const commandLine = valueOf(report, 'cmdline') ?? '';
  return [
    ...(report.split('\n').includes(proof) ? [] : ['its Ignition was not applied']),
    ...(name === hostname ? [] : [`it calls itself ${name}`]),
    ...(commandLine.includes('ignition.firstboot') ? [] : ['it was not its first boot']),
  ];
}
