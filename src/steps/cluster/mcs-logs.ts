import { containerLogs, isMcsLog, type McsLog, readOn, unreadLog } from '../../cluster/mcs-log.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { StepScope } from '../step.ts';

/** The logs of the machine-config-server on this host, read as far as they are written. */
interface McsLogs {
  /**
   * Reads what is new in each log. Returns the files to watch, and every address that ever requested
   * Ignition, in canonical form.
   */
  readonly read: (signal: AbortSignal) => Promise<{
    readonly paths: readonly string[];
    readonly asked: ReadonlySet<string>;
  }>;
}

/**
 * Makes a reader of the logs. Each instance of the pod has its own log. Its name is a link into the
 * directory of the pod, which is followed each time because a rotation may move the file.
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
      if (!noted.has(what)) note('warn', `cannot read ${what}`, { code, reason: message });
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

/** A watch of files whose list changes. */
interface ChangingWatch {
  /** Watches exactly these paths from now on. */
  readonly set: (paths: readonly string[]) => void;
  /** Ends every watch and waits for it. */
  readonly close: () => Promise<void>;
}

/** Makes a watch of a changing list of files; one that fails is noted, and the others continue. */
export function changingWatch(
  { host, signal, note }: StepScope<'host'>,
  changed: () => void,
): ChangingWatch {
  const watches = new Map<
    string,
    { readonly end: AbortController; readonly ended: Promise<void> }
  >();
  const start = (path: string): void => {
    const end = new AbortController();
    const either = AbortSignal.any([signal, end.signal]);
    const ended = host.watch([path], changed, either).catch((error: unknown) => {
      if (either.aborted) return;
      const { code, message } = asAgentError(error);
      note('warn', `cannot watch ${path}; polling it every 30 s`, {
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
      for (const path of paths) if (!watches.has(path)) start(path);
    },
    close: async () => {
      const all = [...watches];
      for (const [path] of all) stop(path);
      await Promise.all(all.map(([, { ended }]) => ended));
    },
  };
}
