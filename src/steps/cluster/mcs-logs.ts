import { containerLogs, isMcsLog, type McsLog, readOn, unreadLog } from '../../cluster/mcs-log.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { StepScope } from '../step.ts';

/** The logs of the machine-config-server on this host, read as far as they are written. */
interface McsLogs {
  /**
   * Reads what is new in each log. Gives the files to watch, and every address that ever asked for
   * Ignition, in its one spelling.
   */
  readonly read: (signal: AbortSignal) => Promise<{
    readonly paths: readonly string[];
    readonly asked: ReadonlySet<string>;
  }>;
}

/**
 * Makes a reader of the logs. Each instance of the pod has one, under a name of its own; the name is
 * a link into the directory of the pod, followed anew each time since a rotation may move it.
 */
export function mcsLogsOf({ host, note }: StepScope<'host'>): McsLogs {
  const logs = new Map<string, McsLog>();
  const noted = new Set<string>();
  let asked: ReadonlySet<string> = new Set();

  const trying = async <T>(
    what: string,
    signal: AbortSignal,
    read: () => Promise<T>,
  ): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = asAgentError(error);
      if (!noted.has(what)) note('warn', `${what} is not read`, { code, reason: message });
      noted.add(what);
      return undefined;
    }
  };

  const readOne = async (name: string, signal: AbortSignal): Promise<string | undefined> => {
    const path = await host.realPath(`${containerLogs}/${name}`, signal);
    if (path === undefined) return undefined;
    const before = logs.get(name) ?? unreadLog;
    const after = readOn(before, (await host.readText(path, signal)) ?? '');
    logs.set(name, after);
    if (after.asked !== before.asked) asked = new Set([...asked, ...after.asked]);
    return path;
  };

  return {
    read: async (signal) => {
      const list = (): Promise<readonly string[]> => host.list(containerLogs, signal);
      const names = ((await trying(containerLogs, signal, list)) ?? []).filter(isMcsLog);
      const paths = await Promise.all(
        names.map((name) => trying(name, signal, () => readOne(name, signal))),
      );
      return { paths: paths.filter((path) => path !== undefined), asked };
    },
  };
}

/** File events of paths that come and go while they are watched. */
interface ChangingWatch {
  /** Watches exactly these paths from now on. */
  readonly set: (paths: readonly string[]) => void;
  /** Ends every watch and waits for that. */
  readonly close: () => Promise<void>;
}

/** Makes a watch of changing paths; one that fails is told, and the others go on. */
export function changingWatch(
  { host, signal, note }: StepScope<'host'>,
  changed: () => void,
): ChangingWatch {
  const watches = new Map<
    string,
    { readonly end: AbortController; readonly ended: Promise<void> }
  >();
  const begin = (path: string): void => {
    const end = new AbortController();
    const either = AbortSignal.any([signal, end.signal]);
    const ended = host.watch([path], changed, either).catch((error: unknown) => {
      if (either.aborted) return;
      const { code, message } = asAgentError(error);
      note('warn', `${path} is not watched; it is looked at each half minute`, {
        code,
        reason: message,
      });
    });
    watches.set(path, { end, ended });
  };
  const stop = (path: string): void => {
    watches.get(path)?.end.abort(new Error('no longer watched'));
    watches.delete(path);
  };
  return {
    set: (paths) => {
      for (const path of watches.keys()) if (!paths.includes(path)) stop(path);
      for (const path of paths) if (!watches.has(path)) begin(path);
    },
    close: async () => {
      const all = [...watches];
      for (const [path] of all) stop(path);
      await Promise.all(all.map(([, { ended }]) => ended));
    },
  };
}
