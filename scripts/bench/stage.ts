import type { Machine, RanCommand } from '../../mocks/host/machine.ts';
import { bundlePath } from '../bundle.ts';
import { openSingleHost, type SingleHost } from '../../mocks/lab/single-host.ts';
import { start, type Watched } from './process.ts';

/** A simulated host and a service for one measured agent. */
export interface Stage extends AsyncDisposable {
  readonly host: SingleHost;
  readonly agent: () => Watched;
  /** A command on the host, as the agent runs it, without the agent. */
  readonly bare: (argv: readonly string[]) => Watched;
}

/** How long the stand-in of coreos-installer writes, in seconds. */
export const writeSeconds = 20;

/** Builds the host and starts the service; no master is done, so a worker waits for ever. */
export async function openStage(role: 'master' | 'worker'): Promise<Stage> {
  const host = await openSingleHost({
    role,
    isControlPlaneDone: false,
    // Lines as the real tool prints them: one per second.
    write: { seconds: writeSeconds, flushSeconds: 0, lineMillis: 1000 },
    token: 'bench',
  });
  return {
    host,
    agent: () => start([bundlePath, ...host.words], host.environment),
    bare: (argv) => start([host.nsenter, ...nsenterWords, ...argv], host.environment),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

const nsenterWords = ['--target', '1', '--cgroup', '--mount', '--ipc', '--pid', '--'];

/** Resolves with a command of the host as soon as one is seen; by its program. */
export async function seen(machine: Machine, program: string): Promise<RanCommand> {
  for (;;) {
    const command = machine.ran.find(({ argv }) => argv[0] === program);
    if (command !== undefined) return command;
    await pause(5);
  }
}

/** Resolves when a command of the host has ended. */
export async function over(command: RanCommand): Promise<void> {
  while (command.exitCode === undefined) await pause(5);
}

/** Waits, in milliseconds. */
export const pause = (duration: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, duration);
  });
