import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '../../../src/adapters/clock.ts';
import { systemRandom } from '../../../src/adapters/random.ts';
import { PULL_SECRET_PATH } from '../../../src/ignition/resource.ts';
import { inContainer, stagingMount } from '../../../src/layering/registry/staging-registry.ts';
import type { Host } from '../../../src/ports/host.ts';
import { coreOsDisk, lsblkOutput, targetOf } from '../../support/disk-samples.ts';
import { relocatedHost } from './relocated-host.ts';
import { registryProgram, type SecureRegistry } from './secure-registry.ts';

/** Where things lie on the bootstrap host. */
export const lanePaths = {
  osConfig: '/opt/openshift/bootwright-layering/master.yaml',
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
 * A bootstrap host whose disk is written: its registry is the real program beside the test, since a container may not
 * be possible where tests run.
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
    child.partLabel === 'root' ? { ...child, mountpoints: [stagingMount] } : child,
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
