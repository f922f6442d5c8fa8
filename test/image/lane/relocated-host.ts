import { join } from 'node:path';
import { localHost } from '../../../src/adapters/host/local-host.ts';
import type { CommandResult, Host } from '../../../src/ports/host.ts';

/** Folders of a bootstrap host that a test must not touch on the machine it runs on. */
const moved = [
  '/opt/bootwright-layering',
  '/opt/openshift',
  '/run/bootwright',
  '/root/.docker',
  '/etc/mcs',
  '/etc/containers',
  '/usr/local/bin/release-image.sh',
] as const;

/** Answers a command instead of running it; undefined for one that is run. */
export type Stand = (argv: readonly string[]) => string | undefined | Promise<string | undefined>;

/**
 * This machine as a bootstrap host: real programs and real files, whose places lie below a folder of the test, and
 * some commands that are answered.
 */
export function relocatedHost(
  folder: string,
  environment: Readonly<Record<string, string>>,
  stand: Stand,
): Host {
  const real = localHost({ environment: { ...process.env, ...environment } });
  const at = (word: string): string =>
    moved.reduce((text, path) => text.replaceAll(path, join(folder, path)), word);
  const back = (word: string): string => word.replaceAll(folder, '');
  return {
    ...real,
    exec: async (argv, options): Promise<CommandResult> => {
      options.signal.throwIfAborted();
      const answer = await stand(argv);
      if (answer !== undefined) return { exitCode: 0, stdout: answer, stderr: '', duration: 0 };
      const env = Object.fromEntries(
        Object.entries(options.env ?? {}).map(([name, value]) => [name, at(value)]),
      );
      return real.exec(argv.map(at), { ...options, env });
    },
    readText: (path, signal) => real.readText(at(path), signal),
    writeFile: async (path, content, options) => {
      // Files name others by their places on the host.
      const text = typeof content === 'string' ? at(content) : content;
      const written = await real.writeFile(at(path), text, options);
      return { ...written, path: back(written.path) };
    },
    remove: (path, signal) => real.remove(at(path), signal),
    list: (path, signal) => real.list(at(path), signal),
    realPath: async (path, signal) => {
      const found = await real.realPath(at(path), signal);
      return found === undefined ? undefined : back(found);
    },
  };
}
