import type { RunEvent } from '../../../src/engine/events.ts';

/** The output of the job of a live guest for one run of the agent. */
interface RunAccount {
  readonly events: readonly RunEvent[];
  /** Undefined as long as the agent runs, and when the guest ended before it. */
  readonly exitCode: number | undefined;
  /** Sectors of 512 bytes that were written to the target meanwhile. */
  readonly sectorsWritten: number | undefined;
  /** Its log, then how it ended. */
  readonly output: string;
}

/** The output of the job of a live guest. */
export interface JobAccount {
  /** Output of before.sh. */
  readonly before: string;
  readonly runs: readonly RunAccount[];
  /** The messages that the journal has under the agent's tag. */
  readonly journal: string;
  /** The scheduled shutdown, as systemd has it. */
  readonly shutdown: string;
  /** Output of `efibootmgr -v`; empty without UEFI. */
  readonly firmware: string;
}

/** Reads the log of job.sh, of a job that still runs too. */
export function readJob(log: string): JobAccount {
  const [runs = '', journal = '', shutdown = '', firmware = ''] = log.split(
    /^(?:JOURNAL|SHUTDOWN|FIRMWARE|ALL-SAID)\n/m,
  );
  const [before = '', ...texts] = runs.split(/^RUN \d\n/m);
  return {
    before,
    runs: texts.map(readRun),
    journal,
    shutdown,
    firmware,
  };
}

function readRun(text: string): RunAccount {
  const [lines = '', output = ''] = text.split(/^OUTPUT\n/m);
  const number = (name: string): number | undefined => {
    const value = new RegExp(`^${name} (\\d+)$`, 'm').exec(lines)?.[1];
    return value === undefined ? undefined : Number(value);
  };
  return {
    events: eventsIn(lines),
    exitCode: number('EXIT'),
    sectorsWritten: number('SECTORS'),
    output,
  };
}

/** The events among whole lines; the last line may be cut by the end of the guest. */
export const eventsIn = (log: string): readonly RunEvent[] =>
  log
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('{"v":') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as RunEvent);
