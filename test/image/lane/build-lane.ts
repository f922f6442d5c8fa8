import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock, systemRandom } from '../../../src/adapters/clock.ts';
import { localHost } from '../../../src/adapters/host/local-host.ts';
import { PULL_SECRET_PATH } from '../../../src/ignition/resource.ts';
import { inContainer, stagingPlaces } from '../../../src/layering/registry/staging-registry.ts';
import type { CommandResult, Host } from '../../../src/ports/host.ts';
import { coreOsDisk, lsblkOutput, targetOf } from '../../support/disk-samples.ts';
import { registryProgram, type SecureRegistry } from './secure-registry.ts';

/** Paths on the bootstrap host. */
export const lanePaths = {
  pushSecret: '/opt/openshift/openshift/push.yaml',
  rendered: '/etc/mcs/bootstrap/machine-configs/rendered.yaml',
} as const;

/** A bootstrap host of a test. */
export interface LaneHost extends AsyncDisposable {
  readonly host: Host;
  readonly ports: { readonly clock: typeof systemClock; readonly random: typeof systemRandom };
  readonly disk: ReturnType<typeof targetOf>;
  /** The test's path for a path of the host. */
  readonly at: (path: string) => string;
  readonly write: (path: string, content: unknown) => void;
  readonly registry: Pick<SecureRegistry, 'start' | 'stop' | 'log'>;
  /** How often its registry was started. */
  readonly starts: () => number;
}

/**
 * A bootstrap host with a written disk. Its registry is the real program beside the test, because
 * containers may not be possible where tests run.
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
    // These commands are for the disk in lsblk's answer; a folder of the test is on the disk of
    // this machine.
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

/** Folders of a bootstrap host that a test must not touch on this machine. */
const moved = [
  '/opt/bootwright-layering',
  '/opt/openshift',
  '/run/bootwright',
  '/root/.docker',
  '/etc/mcs',
  '/etc/containers',
  '/usr/local/bin/release-image.sh',
] as const;

/** Answers a command instead of running it; undefined for a command to run. */
type Stand = (argv: readonly string[]) => string | undefined | Promise<string | undefined>;

/**
 * This machine as a bootstrap host: real programs and real files below a folder of the test, and
 * canned answers for some commands.
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
      // Files contain paths of other files on the host.
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
