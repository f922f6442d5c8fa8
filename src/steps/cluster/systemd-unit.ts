import type { Watch } from '../../engine/wait.ts';
import { hours, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { Host } from '../../ports/host.ts';

/**
 * The `ActiveState` of a unit (`org.freedesktop.systemd1(5)`): `active`, `inactive`, `failed`,
 * `activating` and others; `unknown` when systemd could not be asked.
 */
type UnitState = string;

/** Prints the state of a unit and nothing else. systemd before 246, that of RHEL 8, has no `-P` for it. */
export const unitStateArgv = (unit: string): readonly string[] => [
  ...['systemctl', 'show', '--property=ActiveState', '--value', unit],
];

/** Prints what systemd and the journal know of a unit, for people. */
export const unitStatusArgv = (unit: string): readonly string[] => ['systemctl', 'status', unit];

/**
 * A unit's name as a part of an object path: systemd writes each byte that is not an ASCII letter or
 * digit, and a digit at the beginning, as `_` and two hexadecimal digits (`bus_label_escape`).
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
 * anybody has subscribed to them, which logind does when it starts. The output is text because systemd
 * before 240 has no other. It is not parsed: each line is a reason to poll.
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
 * Notifies when one of these units may have changed. It stops when busctl is missing or ends, so the
 * wait needs an `every` too.
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
 * The state of a unit now.
 * @throws AgentError `command.not-found`, `command.stopped`
 */
export async function unitState(host: Host, unit: string, signal: AbortSignal): Promise<UnitState> {
  try {
    const { stdout } = await host.exec(unitStateArgv(unit), { signal, limit: seconds(30) });
    return stdout === '' ? 'unknown' : stdout;
  } catch (error) {
    if (error instanceof AgentError && isPassing.has(error.code)) return 'unknown';
    throw error;
  }
}

/** systemd may be busy or reloading: the next poll shows more. */
const isPassing: ReadonlySet<string> = new Set(['command.failed', 'command.timed-out']);

/**
 * What `systemctl status` prints about a unit, for a log; empty when that fails. It exits with a code
 * other than 0 for a unit that is not active, which is no failure here.
 */
export async function unitStatus(host: Host, unit: string, signal: AbortSignal): Promise<string> {
  try {
    const options = { signal, limit: seconds(30), accept: [0, 1, 2, 3, 4] };
    return (await host.exec(unitStatusArgv(unit), options)).stdout;
  } catch (error) {
    if (error instanceof AgentError && isPassing.has(error.code)) return '';
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
}

/** Prints the properties that `parseUnitProperties` reads; every systemd since 235 knows them. */
export const unitPropertiesArgv = (unit: string): readonly string[] => [
  ...['systemctl', 'show', '--property=ActiveState,SubState,Result,NRestarts', unit],
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

/** The properties of a unit for people: `bootkube.service is failed (exit-code), restarted 2 times`. */
export function renderUnitProperties(
  unit: string,
  { state, sub, result, restarts }: UnitProperties,
): string {
  if (state === '') return `the state of ${unit} is unknown`;
  const how = state === 'active' ? sub : state;
  const why = result === '' || result === 'success' ? '' : ` (${result})`;
  const times = restarts === 1 ? 'once' : `${restarts} times`;
  return `${unit} is ${how}${why}${restarts === 0 ? '' : `, restarted ${times}`}`;
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
    if (error instanceof AgentError && isPassing.has(error.code)) return parseUnitProperties('');
    throw error;
  }
}
