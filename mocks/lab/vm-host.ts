// One virtual machine from its live system to the first start from its own disk.
import { bootInstalled } from '../../test/guest/install/first-boot.ts';
import { eventsIn } from '../../test/guest/install/job-log.ts';
import { type LiveInstall, startLiveInstall } from '../../test/guest/install/live-install.ts';
import type { Outside } from '../../test/guest/install/outside.ts';
import { deadlineSeconds } from '../../test/guest/install/stage.ts';
import type { HostRecord } from '../inventory/records.ts';
import { afterEvent, noProgress } from './host-progress.ts';
import type { HostOutcome, HostReport } from './report.ts';
import type { Seat } from './seat.ts';
import type { ShownSeat } from './table.ts';

/** A virtual machine in a play, with everything that is known of it. */
export type GuestSeat = ShownSeat &
  Pick<Seat, 'progress' | 'phase' | 'outcome' | 'failure' | 'boots' | 'endedAt' | 'agentStarts'> & {
    /** Commands that the agent ran. */
    commands: number;
  };

/** One virtual machine and what it is installed with. */
export interface Playing {
  readonly install: LiveInstall;
  readonly outside: Outside;
  readonly seat: GuestSeat;
  /** For the logs of the machine. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

const LOOK_EVERY_MILLIS = 250;

/** A machine that has not been started. */
export const guestSeat = ({ hostname, role, id }: HostRecord): GuestSeat => ({
  plan: { name: hostname, role },
  hostId: id,
  progress: noProgress,
  phase: 'starts from the live medium',
  outcome: undefined,
  failure: undefined,
  boots: 0,
  endedAt: undefined,
  agentStarts: 0,
  commands: 0,
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

/** Whether the agent came to its end, and the machine rebooted. */
async function installLive({ install, seat, folder, signal }: Playing): Promise<boolean> {
  await using guest = await startLiveInstall(install, folder, 'live');
  signal.addEventListener('abort', () => void guest.powerCut());
  let told = 0;
  const look = (): void => {
    const events = eventsIn(guest.job.text());
    for (const event of events.slice(told)) {
      seat.progress = afterEvent(seat.progress, event);
      if (event.type === 'run.started') seat.agentStarts += 1;
      if (event.type === 'command.started') seat.commands += 1;
    }
    told = events.length;
  };
  const looking = setInterval(look, LOOK_EVERY_MILLIS);
  try {
    const end = await guest.job.waitForLine(/^EXIT \d+$/, deadlineSeconds);
    look();
    if (end !== 'EXIT 0') {
      seat.failure = seat.progress.failure ?? { code: end.toLowerCase(), message: guest.job.path };
      return false;
    }
    await guest.ended(deadlineSeconds);
    return true;
  } finally {
    clearInterval(looking);
  }
}

/** Whoever asks the Machine Config Server is a system that was installed and applies its Ignition. */
async function startInstalled(playing: Playing): Promise<void> {
  const { install, outside, seat, folder, signal } = playing;
  const { firmware, variables, target } = install;
  const { store } = outside.inventory;
  const report = (stage: string): void => {
    store.report(seat.hostId, { stage, info: '' }, 'v2');
  };
  seat.boots += 1;
  seat.phase = 'starts from its own disk';
  const looking = setInterval(() => {
    if (outside.machineConfigServer.requests.length === 0) return;
    clearInterval(looking);
    seat.phase = 'applies its Ignition';
    report('Configuring');
  }, LOOK_EVERY_MILLIS);
  const machine = { firmware, target, ...(variables === undefined ? {} : { variables }) };
  try {
    await bootInstalled(machine, outside, { folder, name: 'disk', deadlineSeconds, signal });
  } finally {
    clearInterval(looking);
  }
  for (const stage of ['Joined', 'Done']) report(stage);
}

/** What happened on the machine, for the report. */
export function hostReportOf(
  seat: GuestSeat,
  { startedAt, stage = '' }: { readonly startedAt: number; readonly stage: string | undefined },
): HostReport {
  const { plan, progress, failure } = seat;
  const { steps } = progress;
  return {
    name: plan.name,
    role: plan.role,
    outcome: seat.outcome ?? 'unfinished',
    stage,
    boots: seat.boots,
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
