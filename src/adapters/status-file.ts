import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path/posix';
import { replaceFile } from './file-access.ts';

/** A file with one text at a time, the newest. */
export interface StatusFile {
  /** Writes a text; skips it if another follows before it is written. Never throws. */
  readonly show: (text: string) => void;
  /**
   * Resolves when the last text is in the file, or could not be written; later texts are dropped.
   */
  readonly close: () => Promise<void>;
}

/**
 * A status file that only root can read. A rename replaces it, so that a reader never sees half of
 * it. It is not flushed to the disk: after a power loss its run is over. If it cannot be written,
 * the run has no status file.
 */
export function statusFile(path: string): StatusFile {
  let next: string | undefined;
  let work: Promise<void> | undefined;
  let isClosed = false;
  const writeAll = async (): Promise<void> => {
    while (next !== undefined) {
      const text = next;
      next = undefined;
      await replace(path, text).catch(() => undefined);
    }
    work = undefined;
  };
  return {
    show: (text) => {
      if (isClosed) return;
      next = text;
      work ??= writeAll();
    },
    close: async () => {
      isClosed = true;
      await work;
    },
  };
}

async function replace(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await replaceFile(path, {}, (file) => file.writeFile(text));
}

/** Identifies a process, in this boot and across boots. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks between the boot and the start of the process (proc_pid_stat(5), field 22). */
  readonly startTicks: number;
  readonly bootId: string;
}

/**
 * The command line and the environment at the start of a process.
 * @throws the error of the system
 */
export function processLine(pid: number): {
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
} {
  const textsOf = (name: string): readonly string[] =>
    readFileSync(`/proc/${pid}/${name}`, 'utf8').split('\0').slice(0, -1);
  const variables = textsOf('environ').map((text) => {
    const [name = ''] = text.split('=', 1);
    return [name, text.slice(name.length + 1)] as const;
  });
  return { argv: textsOf('cmdline'), environment: Object.fromEntries(variables) };
}

/** The identity of the process with a pid, by default this process; undefined if absent. */
export function processIdentity(pid: number = process.pid): ProcessIdentity | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // The second field is the name of the program in brackets, which may contain blanks and
    // brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { pid, startTicks: Number(fields[19]), bootId };
  } catch {
    return undefined;
  }
}
