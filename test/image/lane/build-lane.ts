import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '../../../src/adapters/clock.ts';
import { localHost } from '../../../src/adapters/host/local-host.ts';
import { systemRandom } from '../../../src/adapters/random.ts';
import { PULL_SECRET_PATH } from '../../../src/ignition/resource.ts';
import { inContainer, stagingPlaces } from '../../../src/layering/registry/staging-registry.ts';
import type { CommandResult, Host } from '../../../src/ports/host.ts';
import { coreOsDisk, lsblkOutput, targetOf } from '../../support/disk-samples.ts';
import { registryProgram, type SecureRegistry } from './secure-registry.ts';

/** Where things lie on the bootstrap host. */
export const lanePaths = {
  pushSecret: '/opt/openshift/openshift/push.yaml',
  rendered: '/etc/mcs/bootstrap/machine-configs/rendered.yaml',
} as const;

/** What a bootstrap host of a test has. */
export interface LaneHost extends AsyncDisposable {
  readonly host: Host;
  readonly ports: { readonly clock: typeof systemClock; readonly random: typeof systemRandom };
  readonly disk: ReturnType<typeof targetOf>;
  /** Where a path of the host is for the test. */
  readonly at: (path: string) => string;
  readonly write: (path: string, content: unknown) => void;
  readonly registry: Pick<SecureRegistry, 'start' | 'stop' | 'log'>;
  /** How often its registry was asked to start. */
  readonly starts: () => number;
}

/**
 * A bootstrap host whose disk is written: its registry is the real program beside the test, since a
 * container may not be possible where tests run.
 */
export async function laneHost(
  folder: string,
  environment: Readonly<Record<string, string>>,
): Promise<LaneHost> {
  const at = (path: string): string => join(folder, path);
  const write = (path: string, content: unknown): void => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), typeof content === 'string' ? content : JSON.stringify(content));
  };
  const served = at('/opt/bootwright-layering/registry');
  const registry = await registryProgram(served);
  const disk = coreOsDisk('sda');
  const mounted = disk.children.map((child) =>
    child.partLabel === 'root' ? { ...child, mountpoints: [stagingPlaces.mount] } : child,
  );
  let starts = 0;
  const startContainer = async (argv: readonly string[]): Promise<void> => {
    starts += 1;
    const data = argv.find((word) => word.endsWith(`:${inContainer.data}`)) ?? '';
    const path = join(served, 'settings.yml');
    const text = readFileSync(path, 'utf8')
      .replace(inContainer.data, at(data.replace(`:${inContainer.data}`, '')))
      .replaceAll(inContainer.served, served);
    writeFileSync(path, text);
    await registry.start();
  };
  const host = relocatedHost(folder, environment, async (argv) => {
    const [program, action] = argv;
    if (program === 'lsblk') return lsblkOutput({ ...disk, children: mounted });
    // Of the disk that lsblk shows; a folder of the test lies on that of this machine.
    if (program === 'fsfreeze' || program === 'xfs_growfs') return '';
    if (program === 'podman' && action === 'run') await startContainer(argv);
    else if (program === 'podman' && action === 'start') await registry.start();
    else return undefined;
    return '';
  });
  write(PULL_SECRET_PATH, { auths: {} });
  mkdirSync(at('/run/bootwright'), { recursive: true });
  return {
    host,
    ports: { clock: systemClock, random: systemRandom },
    disk: targetOf(disk),
    at,
    write,
    registry,
    starts: () => starts,
    [Symbol.asyncDispose]: registry.stop,
  };
}

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
type Stand = (argv: readonly string[]) => string | undefined | Promise<string | undefined>;

/**
 * This machine as a bootstrap host: real programs and real files, whose places lie below a folder
 * of the test, and some commands that are answered.
 */
function relocatedHost(
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
