import type { Watch } from '../../engine/wait.ts';
import { hours, seconds } from '../../model/duration.ts';
import { AgentError, type FailureContext } from '../../model/failure.ts';
import type { ExecOptions, Host } from '../../ports/host.ts';

const unknownBy = (code: string): string => `unknown (systemctl: ${code})`;

/**
 * Prints the state of a unit and nothing else. systemd before 246, that of RHEL 8, has no `-P` for
 * it.
 */
export const unitStateArgv = (unit: string): readonly string[] => [
  ...['systemctl', 'show', '--property=ActiveState', '--value', unit],
];

/** Prints what systemd and the journal know of a unit, for people. */
export const unitStatusArgv = (unit: string): readonly string[] => ['systemctl', 'status', unit];

/**
 * A unit's name as a part of an object path: systemd writes each byte that is not an ASCII letter
 * or digit, and a digit at the beginning, as `_` and two hexadecimal digits (`bus_label_escape`).
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
 * Prints each change of some units until it is stopped. systemd sends these signals as long as
 * anybody has subscribed to them, which logind does when it starts. The output is text because
 * systemd before 240 has no other. It is not parsed: each line is a reason to poll.
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

/** Longer than any wait, which stops the monitor when it ends. */
const longestWatch = hours(24);

/**
 * Notifies when one of these units may have changed. It stops when busctl is missing or ends, so
 * the wait needs an `every` too.
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
 * The `ActiveState` of a unit now (`org.freedesktop.systemd1(5)`): `active`, `inactive`, `failed`,
 * `activating` and others; `unknown`, and by what, when systemd could not be asked.
 * @throws AgentError `command.not-found`, `command.stopped`
 */
export async function unitState(host: Host, unit: string, signal: AbortSignal): Promise<string> {
  try {
    const { stdout } = await host.exec(unitStateArgv(unit), { signal, limit: seconds(30) });
    return /^[a-z-]+$/.test(stdout) ? stdout : unknownBy('command.unreadable');
  } catch (error) {
    if (error instanceof AgentError && isPassing.has(error.code)) return unknownBy(error.code);
    throw error;
  }
}

/** systemd may be busy or reloading: the next poll shows more. */
const isPassing: ReadonlySet<string> = new Set(['command.failed', 'command.timed-out']);

/**
 * What `systemctl status` prints about a unit, for a log; empty when that fails. It exits with a
 * code other than 0 for a unit that is not active, which is no failure here.
 */
export const unitStatus = (host: Host, unit: string, signal: AbortSignal): Promise<string> =>
  printed(host, unitStatusArgv(unit), { signal, accept: [0, 1, 2, 3, 4] });

/** What a command prints; empty where it fails. */
async function printed(
  host: Host,
  argv: readonly string[],
  { signal, accept = [0] }: Pick<ExecOptions, 'signal' | 'accept'>,
): Promise<string> {
  try {
    return (await host.exec(argv, { signal, limit: seconds(30), accept })).stdout;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AgentError) return '';
    throw error;
  }
}

/** Properties of a unit as `systemctl show` prints them; empty where it prints none. */
interface UnitProperties {
  /** `active`, `inactive`, `failed`, `activating`, … */
  readonly state: string;
  /** `running`, `dead`, `auto-restart`, … */
  readonly sub: string;
  /** `success`, or how its last process ended: `exit-code`, `timeout`, `start-limit-hit`, … */
  readonly result: string;
  /** How often systemd has started it again by itself. */
  readonly restarts: number;
  /** Code of why systemctl did not say anything. */
  readonly unread?: string;
}

/** Prints the properties that `parseUnitProperties` reads; every systemd since 235 knows them. */
export const unitPropertiesArgv = (unit: string): readonly string[] => [
  ...['systemctl', 'show', '--property=ActiveState,SubState,Result,NRestarts', unit],
];

/** What a wait for a unit runs. */
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
 * systemd has given a unit up: it failed, and is not started again (systemd.service(5), `Restart=`
 * and `StartLimitBurst=`). Since systemd 254 a unit that is about to be started again may be
 * `failed` too, with another `SubState`.
 */
export const isGivenUp = ({ state, sub }: UnitProperties): boolean =>
  state === 'failed' && sub === 'failed';

/** Whether the last run of a unit failed, or one before it that systemd has started it after. */
export const hasFailed = ({ result, restarts }: UnitProperties): boolean =>
  restarts > 0 || (result !== '' && result !== 'success');

/**
 * Describes a unit in words that stay the same while it crashes and is started again, for ever
 * perhaps: that is no progress, and must not renew the time that the service gives a stage.
 */
export function unitTexts(unit: string): (properties: UnitProperties) => string {
  let failedWith = '';
  return ({ state, sub, result, restarts, unread }) => {
    if (state === '') return `the state of ${unit} is ${unknownBy(unread ?? 'command.unreadable')}`;
    if (failedWith === '' && result !== '' && result !== 'success') failedWith = ` (${result})`;
    if (failedWith !== '' || restarts > 0) return `${unit} failed${failedWith} and was restarted`;
    return `${unit} is ${state === 'active' ? sub : state}`;
  };
}

/** Prints the last messages of a unit in the journal. */
export const unitLogArgv = (unit: string): readonly string[] => [
  ...['journalctl', '--unit', unit, '--lines', '20', '--no-pager', '--output', 'cat'],
];

/** So many of the last lines, and characters of them, go into a failure. */
const shownLines = 5;
const shownLength = 600;

/** What a failure says of a unit that systemd has given up. */
export async function describeGivenUp(
  host: Host,
  { unit, result }: { readonly unit: string; readonly result: string },
  signal: AbortSignal,
): Promise<{ readonly message: string; readonly context: FailureContext }> {
  const lines = await lastLines(host, unit, signal);
  const last = lines.slice(-shownLines).join(' | ').slice(-shownLength);
  return {
    message: `${unit} failed (${result}) and is not started again${last === '' ? '' : `: ${last}`}`,
    context: { unit, result, log: lines.join('\n').slice(-2 * shownLength) },
  };
}

/**
 * The last lines of a unit in the journal. None when it cannot be read: the unit has failed all the
 * same.
 */
export async function lastLines(
  host: Host,
  unit: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const text = await printed(host, unitLogArgv(unit), { signal });
  return text.split('\n').filter((line) => line.trim() !== '');
}

/**
 * The properties of a unit now; without a state when systemd does not answer.
 * @throws AgentError `command.not-found`, `command.stopped`
 */
export async function readUnitProperties(
  host: Host,
  unit: string,
  signal: AbortSignal,
): Promise<UnitProperties> {
  try {
    const { stdout } = await host.exec(unitPropertiesArgv(unit), { signal, limit: seconds(30) });
    return parseUnitProperties(stdout);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError) || !isPassing.has(error.code)) throw error;
    return { ...parseUnitProperties(''), unread: error.code };
  }
}
