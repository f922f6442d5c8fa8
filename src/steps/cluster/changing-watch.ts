import { asAgentError } from '../../engine/failures.ts';
import type { StepScope } from '../step.ts';

/** File events of paths that come and go while they are watched. */
export interface ChangingWatch {
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
