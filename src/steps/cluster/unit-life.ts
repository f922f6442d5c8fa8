import { AgentError } from '../../model/failure.ts';
import { seconds } from '../../model/duration.ts';
import type { Host } from '../../ports/host.ts';

/** How a unit of systemd fares, in the words of `systemctl show`; empty where it does not say. */
export interface UnitLife {
  /** `active`, `inactive`, `failed`, `activating`, … */
  readonly state: string;
  /** `running`, `dead`, `auto-restart`, … */
  readonly sub: string;
  /** `success`, or how its last process ended: `exit-code`, `timeout`, `start-limit-hit`, … */
  readonly result: string;
  /** How often systemd has started it again by itself. */
  readonly restarts: number;
}

/** Prints the properties that `parseUnitLife` reads; every systemd since 235 knows them. */
export const unitLifeArgv = (unit: string): readonly string[] => [
  ...['systemctl', 'show', '--property=ActiveState,SubState,Result,NRestarts', unit],
];

/** Reads the output of `unitLifeArgv`. */
export function parseUnitLife(stdout: string): UnitLife {
  const value = (name: string): string =>
    new RegExp(`^${name}=(.*)$`, 'm').exec(stdout)?.[1]?.trim() ?? '';
  return {
    state: value('ActiveState'),
    sub: value('SubState'),
    result: value('Result'),
    restarts: Number(value('NRestarts')) || 0,
  };
}

/** A unit's life for people: `bootkube.service is failed (exit-code), restarted 2 times`. */
export function renderUnitLife(unit: string, { state, sub, result, restarts }: UnitLife): string {
  if (state === '') return `the state of ${unit} is not known`;
  const how = state === 'active' ? sub : state;
  const why = result === '' || result === 'success' ? '' : ` (${result})`;
  const times = restarts === 1 ? 'once' : `${restarts} times`;
  return `${unit} is ${how}${why}${restarts === 0 ? '' : `, restarted ${times}`}`;
}

/**
 * How a unit fares now; without a state when systemd does not answer.
 * @throws AgentError `command.not-found`, `command.stopped`
 */
export async function readUnitLife(
  host: Host,
  unit: string,
  signal: AbortSignal,
): Promise<UnitLife> {
  try {
    const { stdout } = await host.exec(unitLifeArgv(unit), { signal, limit: seconds(30) });
    return parseUnitLife(stdout);
  } catch (error) {
    signal.throwIfAborted();
    const isPassing =
      error instanceof AgentError &&
      (error.code === 'command.failed' || error.code === 'command.timed-out');
    if (isPassing) return parseUnitLife('');
    throw error;
  }
}
