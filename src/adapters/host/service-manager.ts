// What systemd is sent of a service of Type=notify (sd_notify(3)). It takes datagrams alone, which
// Node cannot send, so its own `systemd-notify` does: on the host, where there is one. Trouble with
// it is never fatal and never waited for.
import { setTimeout as pause } from 'node:timers/promises';
import { type Millis, seconds } from '../../model/duration.ts';
import { cleanEnvironment } from './run-command.ts';
import { within } from '../clock.ts';

/** How the manager is reached. */
export interface ServiceManagerOptions {
  /** NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID of our own process. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Words before the program: those that lead to the host, where it is not our own. */
  readonly prefix?: readonly string[];
  /** Pause between two messages that are not urgent. */
  readonly every?: Millis;
}

/** Variables of one message, `STATUS` and its like. */
export type Assignments = Readonly<Record<string, string>>;

/** The service manager that started us. */
export interface ServiceManager {
  /** Sends what is new; of a variable the newest value. READY and STOPPING go at once. */
  readonly notify: (assignments: Assignments) => void;
  /** Says that we end, and sends what is still held, for two seconds at most. */
  readonly close: () => Promise<void>;
}

const urgent: ReadonlySet<string> = new Set(['READY', 'STOPPING', 'WATCHDOG']);

/** systemd-notify itself waits up to 5 s until its message has been read. */
const sendLimit: Millis = seconds(6);
const closeLimit: Millis = seconds(2);

/** After so many messages in a row were not taken, nothing more is tried. */
const mostFailures = 3;

/**
 * A manager to notify; undefined where none asked for it. No process is started before the first
 * message.
 */
export function serviceManager({
  environment,
  prefix = [],
  every = seconds(1),
}: ServiceManagerOptions): ServiceManager | undefined {
  const socket = environment['NOTIFY_SOCKET'] ?? '';
  if (socket === '') return undefined;
  // A path in our container leads there from the host as well; its processes are ours.
  const address =
    prefix.length > 0 && socket.startsWith('/') ? `/proc/${process.pid}/root${socket}` : socket;
  const program = [...prefix, 'env', `NOTIFY_SOCKET=${address}`, 'systemd-notify'];
  const send = async (message: readonly string[]): Promise<boolean> => {
    // A controller runs no command, and its library takes four megabytes.
    const { runBriefly } = await import('./run-briefly.ts');
    const env = cleanEnvironment(environment);
    return (await runBriefly({ argv: [...program, ...message], env, limit: sendLimit })) === 0;
  };
  const queue = messageQueue(send, every);
  const watchdog = watchdogOf(environment);
  const timer =
    watchdog === undefined
      ? undefined
      : // It fires only as long as the event loop turns, which is what it is to show.
        setInterval(() => queue.notify({ WATCHDOG: '1' }), watchdog / 2).unref();
  return {
    notify: queue.notify,
    close: async () => {
      clearInterval(timer);
      queue.notify({ STOPPING: '1' });
      await queue.close();
    },
  };
}

/**
 * The time in which the manager wants a sign of life; undefined where it wants none of this process
 * (sd_watchdog_enabled(3)).
 */
export function watchdogOf(
  environment: ServiceManagerOptions['environment'],
  pid = process.pid,
): Millis | undefined {
  const { WATCHDOG_USEC: micros = '', WATCHDOG_PID: whose = '' } = environment;
  const isOurs = whose === '' || whose === String(pid);
  return isOurs && /^[1-9]\d*$/.test(micros) ? Number(micros) / 1000 : undefined;
}

/** Sends one message at a time. */
function messageQueue(
  deliver: (message: readonly string[]) => Promise<boolean>,
  every: Millis,
): ServiceManager {
  const sent = new Map<string, string>();
  let waiting = new Map<string, string>();
  let hurry = new AbortController();
  let pump: Promise<void> | undefined;
  let failures = 0;
  let isFirst = true;

  const work = async (): Promise<void> => {
    while (waiting.size > 0 && failures < mostFailures) {
      const gap = isFirst ? 0 : every;
      isFirst = false;
      if (gap > 0) {
        await pause(gap, undefined, { signal: hurry.signal, ref: false }).catch(() => undefined);
      }
      const message = waiting;
      waiting = new Map();
      hurry = new AbortController();
      const isTaken = await deliver([...message].map(([name, value]) => `${name}=${value}`));
      failures = isTaken ? 0 : failures + 1;
    }
    pump = undefined;
  };
  return {
    notify: (assignments) => {
      for (const [name, value] of Object.entries(assignments)) {
        if (name !== 'WATCHDOG' && sent.get(name) === value) continue;
        sent.set(name, value);
        waiting.set(name, value);
        if (urgent.has(name)) hurry.abort();
      }
      if (waiting.size > 0) pump ??= work();
    },
    close: async () => {
      hurry.abort();
      await within(closeLimit, pump);
    },
  };
}
