import type { Host } from '../../ports/host.ts';
import { decideDry, type DryWorld } from './dry-commands.ts';

/**
 * A host for load tests of the inventory service: many agents on one machine, none of which changes
 * it. What each command becomes is decided in `dry-commands.ts`; files are written for real.
 */
export function dryHost(host: Host, world: DryWorld): Host {
  return {
    ...host,
    exec: (argv, options) => {
      const decision = decideDry(argv, world);
      if (decision.kind === 'run') return host.exec(decision.argv, options);
      options.signal.throwIfAborted();
      const { exitCode, stdout } = decision;
      return Promise.resolve({ exitCode, stdout, stderr: '', duration: 0 });
    },
    realPath: (path, signal) =>
      path === world.device ? Promise.resolve(path) : host.realPath(path, signal),
    // Each agent is a host of its own, though all share one machine.
    lock: () => Promise.resolve({ release: () => Promise.resolve() }),
  };
}
