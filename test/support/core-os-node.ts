import { fakeClock } from './fake-clock.ts';
import { any, fakeHost, type FakeHost, type FakeResult, rest } from './fake-host.ts';
import { changeKargs, grubLine } from '../../mocks/host/kernel-arguments.ts';
import { imageOf, rpmOstreeDeployment, rpmOstreeOutput, sum } from './os-samples.ts';
import type { Host } from '../../src/ports/host.ts';
import type { CommandScope, NodeRequest } from '../../src/steps/os/request.ts';

/** State of a test's host in addition to a CoreOS node's. */
export interface NodeWorld {
  /** Digits of the deployments in the order of the boot loader. */
  order: string[];
  booted: string;
  staged?: string | undefined;
  /**
   * Kernel arguments of the booted deployment as given to the boot loader, and of the staged one.
   */
  arguments?: readonly string[];
  stagedArguments?: readonly string[] | undefined;
}

const root = 'ostree=/ostree/boot.1/rhcos/a/0';

/** `skopeo inspect` of an image with one layer. */
export const inspected = (digit: string, more: object = {}): string =>
  JSON.stringify({
    Digest: `sha256:${sum(digit)}`,
    Architecture: 'amd64',
    LayersData: [{ Digest: `sha256:${sum('c')}`, Size: 1000 }],
    ...more,
  });

/** A CoreOS node with a working fake rpm-ostree; image 2 is in the registry. */
export function coreOsNode(world: NodeWorld = { order: ['1', '0'], booted: '1' }): {
  readonly host: FakeHost;
  readonly world: NodeWorld;
  /**
   * Boots the kernel with the boot loader's arguments of the booted deployment, as GRUB passes
   * them.
   */
  readonly starts: () => void;
} {
  world.arguments ??= ['rw', 'ignition.platform.id=metal'];
  const isStaged = (): boolean => world.staged !== undefined;
  const deployments = (): readonly object[] => {
    const booted = world.order.indexOf(world.booted, isStaged() ? 1 : 0);
    return world.order.map((digit, at) =>
      rpmOstreeDeployment(digit, { booted: at === booted, staged: at === 0 && isStaged() }),
    );
  };
  const drop = (): void => {
    if (isStaged()) world.order = world.order.slice(1);
    world.staged = undefined;
    world.stagedArguments = undefined;
  };
  const kargs = (words: readonly string[]): FakeResult => {
    const present = (isStaged() ? world.stagedArguments : undefined) ?? world.arguments ?? [];
    const index = words.find((word) => word.startsWith('--deploy-index='));
    if (!words.some((word) => /^--(append|delete)/.test(word))) {
      const shown = index === undefined ? present : (world.arguments ?? []);
      return { stdout: [...shown, root].join(' ') };
    }
    const changed = changeKargs(present, words);
    if ('error' in changed) return { exitCode: 1, stderr: changed.error };
    if (changed.list.join(' ') === present.join(' ')) return { stdout: 'No changes.' };
    if (!isStaged()) world.order = [world.booted, ...world.order];
    world.staged ??= world.booted;
    world.stagedArguments = changed.list;
    return { stdout: 'Staging deployment... done' };
  };
  const host = fakeHost()
    .on(['rpm-ostree', 'kargs', rest])
    .answers((argv) => kargs(argv.slice(2)))
    .on(['bootc', rest])
    .isMissing()
    .on(['test', '-e', any])
    .fails(1)
    .on(['test', '-e', '/run/ostree-booted'])
    .succeeds()
    .on(['test', '-e', '/etc/ostree/auth.json'])
    .succeeds()
    .on(['rpm-ostree', '--version'])
    .prints('rpm-ostree:\n Version: 2024.7')
    .on(['rpm-ostree', 'status', '--json'])
    .answers(() => rpmOstreeOutput(deployments()))
    .on(['skopeo', 'inspect', rest])
    .prints(inspected('2'))
    .on(['uname', '-m'])
    .prints('x86_64\n')
    .on(['ostree', 'refs', rest])
    .prints('')
    .on(['df', rest])
    .prints(`Avail\n${2 ** 34}\n`)
    .on(['rpm-ostree', 'cleanup', '--base'])
    .succeeds()
    .on(['rpm-ostree', 'cleanup', '--pending'])
    .answers(() => {
      drop();
      world.order = world.order.slice(world.order.indexOf(world.booted));
    })
    .on(['rpm-ostree', 'rebase', '--experimental', `ostree-unverified-registry:${imageOf('2')}`])
    .answers(() => {
      drop();
      world.order = ['2', ...world.order];
      world.staged = '2';
      return 'Pulling manifest\nStaging deployment... done\n';
    })
    .on(['rpm-ostree', 'rollback'])
    .answers(() => {
      drop();
      world.order = [world.order[1] ?? '', world.order[0] ?? ''];
    })
    .on(['find', any, '-maxdepth', rest])
    .prints('')
    .on(['pgrep', rest])
    .fails(1)
    .on(['journalctl', '--boot=-1', rest])
    .prints('')
    .on(['systemctl', 'reboot'])
    .succeeds();
  const starts = (): void => {
    host.withFile('/proc/cmdline', `${grubLine([...(world.arguments ?? []), root])}\n`);
  };
  starts();
  return { host, world, starts };
}

/** The default request to a node in tests. */
const order: NodeRequest = {
  image: imageOf('2'),
  kernelArguments: { append: [], remove: [] },
  records: false,
  reboots: false,
};

/** Runs a command of a node on a host. */
export async function runOnNode(
  change: (scope: CommandScope) => Promise<boolean>,
  host: Host,
  asked: Partial<NodeRequest> = {},
): Promise<{ readonly isRestarted: boolean; readonly notes: readonly string[] }> {
  const notes: string[] = [];
  const isRestarted = await change({
    host,
    clock: fakeClock(),
    signal: new AbortController().signal,
    note: (level, message) => void notes.push(`${level}: ${message}`),
    progress: () => undefined,
    config: { ...order, ...asked },
  });
  return { isRestarted, notes };
}
