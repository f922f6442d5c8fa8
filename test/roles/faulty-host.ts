import {
  commandFailed,
  commandNotFound,
  commandStopped,
  commandTimedOut,
} from '../../src/adapters/host/command-failures.ts';
import type { CommandResult, ExecOptions, Host } from '../../src/ports/host.ts';
import { type FakeClock, fakeClock } from '../support/fake-clock.ts';

/**
 * A fault of a command: the host does not have the program; it exits with a code that is not an
 * answer; it does not end before its limit; it does its work, and prints meaningless bytes.
 */
export type CommandFault = 'missing' | 'fails' | 'hangs' | 'garbage';

/** Meaningless bytes for the parser of a command's output. */
export const garbage = '\u001f\ufffd\u0000\ufffd {"';

/** Decides for each command of a step whether it has a fault. */
export type FaultOf = (step: string, argv: readonly string[]) => CommandFault | undefined;

/** A clock that does not advance while hosts are at work. */
export interface WorkClock extends FakeClock {
  /** Counts work of a host until it ends. */
  readonly busy: <Answer>(work: Promise<Answer>) => Promise<Answer>;
}

/** Limits of hours pass in a moment, but none while real work is running. */
export function workClock(): WorkClock {
  let works = 0;
  const clock = fakeClock({ isBusy: () => works > 0, turns: 4 });
  const busy: WorkClock['busy'] = (work) => {
    works += 1;
    return work.finally(() => {
      works -= 1;
    });
  };
  return { ...clock, busy };
}

/** A host for a step, with faults in some of its commands. */
export function faultyHost(
  host: Host,
  { step, faultOf, clock }: { step: string; faultOf: FaultOf; clock: WorkClock },
): Host {
  const { busy } = clock;
  return {
    exec: async (argv, options) => {
      const fault = faultOf(step, argv);
      const story = { argv, duration: 0, stdout: '', stderr: '' };
      if (fault === 'missing') throw commandNotFound(story);
      if (fault === 'fails') {
        throw commandFailed({ ...story, stderr: 'the fault of a test' }, { exitCode: 99 });
      }
      if (fault === 'hangs') {
        await clock.sleep(options.limit, options.signal).catch((reason: unknown) => {
          throw commandStopped(story, reason);
        });
        throw commandTimedOut(story, options.limit);
      }
      // The monitor of units ends when its caller stops it.
      const run = (how: ExecOptions): Promise<CommandResult> =>
        argv[0] === 'busctl' ? host.exec(argv, how) : busy(host.exec(argv, how));
      if (fault === undefined) return run(options);
      options.onLine?.(garbage, 'stdout');
      const onLine: ExecOptions['onLine'] = (line, stream) => {
        if (stream === 'stderr') options.onLine?.(line, stream);
      };
      return { ...(await run({ ...options, onLine })), stdout: garbage };
    },
    readText: (...given) => busy(host.readText(...given)),
    writeFile: (...given) => busy(host.writeFile(...given)),
    remove: (...given) => busy(host.remove(...given)),
    list: (...given) => busy(host.list(...given)),
    realPath: (...given) => busy(host.realPath(...given)),
    lock: (...given) => busy(host.lock(...given)),
    watch: (paths, changed, signal) => {
      const watching = host.watch(paths, changed, signal);
      // It has open files to close.
      signal.addEventListener('abort', () => void busy(watching), { once: true });
      return watching;
    },
  };
}
