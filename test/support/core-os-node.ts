import { fakeClock } from './fake-clock.ts';
import { any, fakeHost, type FakeHost, rest } from './fake-host.ts';
import { noJournal } from '../../src/adapters/journal.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import type { Role } from '../../src/engine/role.ts';
import { runRole } from '../../src/engine/run.ts';
import { imageOf, rpmOstreeDeployment, rpmOstreeOutput, sum } from './os-samples.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Host } from '../../src/ports/host.ts';
import type { NodeRequest, NodeCommandWorld } from '../../src/steps/os/step.ts';

/** What the host of a test has beside what a CoreOS node has. */
export interface NodeWorld {
  /** Digits of the deployments in the order of the boot loader. */
  order: string[];
  booted: string;
  staged?: string | undefined;
}

/** `skopeo inspect` of an image with one layer. */
export const inspected = (digit: string, more: object = {}): string =>
  JSON.stringify({
    Digest: `sha256:${sum(digit)}`,
    Architecture: 'amd64',
    LayersData: [{ Digest: `sha256:${sum('c')}`, Size: 1000 }],
    ...more,
  });

/** A CoreOS node whose rpm-ostree does what it is told; image 2 is in the registry. */
export function coreOsNode(world: NodeWorld = { order: ['1', '0'], booted: '1' }): {
  readonly host: FakeHost;
  readonly world: NodeWorld;
} {
  const deployments = (): readonly object[] =>
    world.order.map((digit) =>
      rpmOstreeDeployment(digit, {
        booted: digit === world.booted,
        staged: digit === world.staged,
      }),
    );
  const drop = (): void => {
    world.order = world.order.filter((digit) => digit !== world.staged);
    world.staged = undefined;
  };
  const host = fakeHost()
    .withFile('/proc/cmdline', 'rw ignition.platform.id=metal ostree=/ostree/boot.1/rhcos/a/0\n')
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
    .on(['ostree', 'container', 'image', '--help'])
    .succeeds()
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
    .on(['systemctl', 'reboot'])
    .succeeds();
  return { host, world };
}

/** What a node is asked for unless a test says else. */
const order: NodeRequest = {
  image: imageOf('2'),
  kernelArguments: { append: [], remove: [] },
  records: false,
  reboots: false,
};

/** Runs a role of a node on a host. */
export async function runOnNode(
  role: Role<NodeCommandWorld>,
  host: Host,
  { clock = fakeClock(), ...asked }: Partial<NodeRequest> & { readonly clock?: Clock } = {},
): Promise<{
  readonly isRestarted: boolean;
  readonly skipped: readonly string[];
  readonly notes: readonly string[];
}> {
  const events: RunEvent[] = [];
  await runRole({
    role,
    config: { ...order, ...asked },
    ports: { host, clock },
    clock,
    journal: noJournal,
    header: { version: '1', fingerprint: 'f', bootId: 'b' },
    run: 'test',
    sinks: [(event) => events.push(event)],
    signal: new AbortController().signal,
  });
  return {
    isRestarted: events.some(
      (event) => event.type === 'step.finished' && event.step === 'os/restart',
    ),
    skipped: events.flatMap((event) => (event.type === 'step.skipped' ? [event.step] : [])),
    notes: events.flatMap((event) =>
      event.type === 'note' ? [`${event.level}: ${event.message}`] : [],
    ),
  };
}
