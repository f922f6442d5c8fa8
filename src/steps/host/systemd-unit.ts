import type { Watch } from '../../engine/wait.ts';
import { hours, minutes } from '../../model/duration.ts';
import { AgentError, type FailureContext } from '../../model/failure.ts';
import type { ExecOptions, Host } from '../../ports/host.ts';

/** Prints the status of a unit and its last log lines, for people. */
export const unitStatusArgv = (unit: string): readonly string[] => ['systemctl', 'status', unit];

/**
 * A unit name in an object path: systemd escapes each byte that is not an ASCII letter or digit,
 * and a leading digit, as `_` and two hexadecimal digits (`bus_label_escape`).
 */
export function busLabel(name: string): string {
  const label = [...new TextEncoder().encode(name)].map((byte, index) => {
    const letter = String.fromCharCode(byte);
    const isPlain = index === 0 ? /[A-Za-z]/.test(letter) : /[A-Za-z0-9]/.test(letter);
    return isPlain ? letter : `_${byte.toString(16).padStart(2, '0')}`;
  });
  return label.length === 0 ? '_' : label.join('');
}

/**
 * Prints each change of some units until the monitor is stopped. systemd sends these signals while
 * it has at least one subscriber; logind subscribes when it starts. The output is not parsed: each
 * line is a reason to poll.
 */
export const unitMonitorArgv = (units: readonly string[]): readonly string[] => [
  'busctl',
  '--system',
  ...units.map(
    (unit) =>
      `--match=type='signal',sender='org.freedesktop.systemd1',` +
      `path='/org/freedesktop/systemd1/unit/${busLabel(unit)}',` +
      `interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'`,
  ),
  'monitor',
];

/** Longer than any wait; the wait stops the monitor at its end. */
const longestWatch = hours(24);

/**
 * Notifies when one of these units may have changed. The watch ends if busctl is missing or exits,
 * so the wait needs an `every` too.
 */
export function unitWatch(host: Host, units: readonly string[]): Watch {
  return async (changed, signal) => {
    try {
      await host.exec(unitMonitorArgv(units), {
        signal,
        limit: longestWatch,
        onLine: () => changed(),
      });
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
    }
  };
}

/**
 * The output of `systemctl status` for a unit, for a log; empty if the command fails. It exits with
 * a code other than 0 for a unit that is not active, which is no failure here.
 */
export const unitStatus = (host: Host, unit: string, signal: AbortSignal): Promise<string> =>
  printed(host, unitStatusArgv(unit), { signal, accept: [0, 1, 2, 3, 4] });

/** The output of a command; empty if it fails. */
async function printed(
  host: Host,
  argv: readonly string[],
  { signal, accept = [0] }: Pick<ExecOptions, 'signal' | 'accept'>,
): Promise<string> {
  try {
    return (await host.exec(argv, { signal, limit: minutes(2), accept })).stdout;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AgentError) return '';
    throw error;
  }
}

/** Properties of a unit in the output of `systemctl show`; empty if it prints none. */
interface UnitProperties {
  /** `active`, `inactive`, `failed`, `activating`, … */
  readonly state: string;
  /** `running`, `dead`, `auto-restart`, … */
  readonly sub: string;
  /** `success`, or the result of its last process: `exit-code`, `timeout`, `start-limit-hit`, … */
  readonly result: string;
  /** Number of automatic restarts by systemd. */
  readonly restarts: number;
  /** Error code if systemctl printed no properties. */
  readonly unread?: string;
}

/** Prints the properties that `parseUnitProperties` reads. */
export const unitPropertiesArgv = (unit: string): readonly string[] => [
  ...['systemctl', 'show', '--property=ActiveState,SubState,Result,NRestarts', unit],
];

/** The commands of a wait for a unit. */
export const unitArgvs = (unit: string): readonly (readonly string[])[] => [
  ...[unitMonitorArgv([unit]), unitPropertiesArgv(unit), unitLogArgv(unit)],
];

/** Reads the output of `unitPropertiesArgv`. */
export function parseUnitProperties(stdout: string): UnitProperties {
  const value = (name: string): string =>
    new RegExp(`^${name}=(.*)$`, 'm').exec(stdout)?.[1]?.trim() ?? '';
  return {
    state: value('ActiveState'),
    sub: value('SubState'),
    result: value('Result'),
    restarts: Number(value('NRestarts')) || 0,
  };
}

/**
 * systemd has given the unit up: it failed and is not restarted (systemd.service(5), `Restart=` and
 * `StartLimitBurst=`). Since systemd 254 a unit before its restart may be `failed` too, with
 * another `SubState`.
 */
export const isGivenUp = ({ state, sub }: UnitProperties): boolean =>
  state === 'failed' && sub === 'failed';

/** Whether the last run of a unit failed, or an earlier run after which systemd restarted it. */
export const hasFailed = ({ result, restarts }: UnitProperties): boolean =>
  restarts > 0 || (result !== '' && result !== 'success');

/**
 * Describes a unit in a text that stays the same during a crash loop: crashes are not progress, and
 * must not restart the service's time limit of a stage.
 */
export function unitTexts(unit: string): (properties: UnitProperties) => string {
  let failedWith = '';
  return ({ state, sub, result, restarts, unread }) => {
    if (state === '')
      return `the state of ${unit} is unknown (systemctl: ${unread ?? 'command.unreadable'})`;
    if (failedWith === '' && result !== '' && result !== 'success') failedWith = ` (${result})`;
    if (failedWith !== '' || restarts > 0) return `${unit} failed${failedWith} and was restarted`;
    return `${unit} is ${state === 'active' ? sub : state}`;
  };
}

/** Prints the last messages of a unit in the journal. */
export const unitLogArgv = (unit: string): readonly string[] => [
  ...['journalctl', '--unit', unit, '--lines', '20', '--no-pager', '--output', 'cat'],
];

/** Number of log lines, and of their characters, in a failure. */
const shownLines = 5;
const shownLength = 600;

/** The details of a unit that systemd has given up, for a failure. */
export async function describeGivenUp(
  host: Host,
  { unit, result }: { readonly unit: string; readonly result: string },
  signal: AbortSignal,
): Promise<{ readonly message: string; readonly context: FailureContext }> {
  const lines = await lastLines(host, unit, signal);
  // systemd's own lines about the unit say no more than the result.
  const own = lines.filter((line) => !line.startsWith(`${unit}: `));
  const last = (own.length === 0 ? lines : own).slice(-shownLines).join(' | ').slice(-shownLength);
  return {
    message: `${unit} failed (${result}) and is not started again${last === '' ? '' : `: ${last}`}`,
    context: { unit, result, log: last },
  };
}

/**
 * The last log lines of a unit in the journal; empty if it cannot be read: the unit has failed in
 * any case.
 */
export async function lastLines(
  host: Host,
  unit: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const text = await printed(host, unitLogArgv(unit), { signal });
  return text.split('\n').filter((line) => line.trim() !== '');
}

/** systemd may be busy or reloading: the next poll tries again. */
const isPassing: ReadonlySet<string> = new Set(['command.failed', 'command.timed-out']);

/**
 * The current properties of a unit; without a state if systemd does not answer.
 * @throws AgentError `command.not-found`, `command.stopped`
 */
export async function readUnitProperties(
  host: Host,
  unit: string,
  signal: AbortSignal,
): Promise<UnitProperties> {
  try {
    const { stdout } = await host.exec(unitPropertiesArgv(unit), { signal, limit: minutes(2) });
    return parseUnitProperties(stdout);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError) || !isPassing.has(error.code)) throw error;
    return { ...parseUnitProperties(''), unread: error.code };
  }
}
