import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { z } from 'zod';
import { buildMachine, HostPlan } from '../host/build-machine.ts';
import { placeStandIn, serveHost } from '../host/socket-server.ts';
import { clusterSeed, type HostRecord, hostSeed } from '../inventory/records.ts';
import { startInventory } from '../inventory/server.ts';

/** The ids of the one host, its infra-env and its cluster. */
export const singleIds = {
  cluster: '11111111-1111-4111-8111-111111111111',
  infraEnv: '22222222-2222-4222-8222-222222222222',
  host: '33333333-3333-4333-8333-333333333333',
} as const;

/** The one host and the state of its cluster. */
export interface SingleHostPlan {
  readonly role: 'bootstrap' | 'master' | 'worker';
  /** Whether two masters are done, so that a worker need not wait. */
  readonly isControlPlaneDone: boolean;
  readonly write: z.input<typeof HostPlan>['write'];
  readonly token: string;
  readonly disks?: z.input<typeof HostPlan>['disks'];
  /** The service's present state of this host. */
  readonly own?: Partial<Pick<HostRecord, 'status' | 'stage' | 'stageInfo'>>;
}

/** One simulated host and a service, for one agent at a time. */
export type SingleHost = Awaited<ReturnType<typeof openSingleHost>>;

/** Builds the host and starts the service. */
export async function openSingleHost(plan: SingleHostPlan) {
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-host-'));
  const root = join(folder, 'root');
  await mkdir(root);
  const hostPlan = HostPlan.parse({
    name: 'h',
    firmware: 'bios',
    write: plan.write,
    disks: plan.disks,
  });
  const machine = buildMachine(hostPlan, root);
  const host = await serveHost(machine, join(folder, 'socket'));
  await placeStandIn(join(folder, 'bin'), join(folder, 'socket'));
  const inventory = await startInventory(worldOf(plan));
  return {
    machine,
    inventory,
    /** Directory of all files; the host's files are in `root` below it. */
    folder,
    /** Full path of the stand-in nsenter. */
    nsenter: join(folder, 'bin', 'nsenter'),
    /** Environment of the agent. */
    environment: {
      PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
      BOOTWRIGHT_HOST_ROOT: root,
      PULL_SECRET_TOKEN: plan.token,
    },
    /** Arguments of an install, first those of the service. */
    words: singleHostWords(plan.role, inventory.url),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await inventory.close();
      await host.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Arguments of an install of the one host. */
export const singleHostWords = (role: string, url: string): readonly string[] => [
  ...['--role', role, '--infra-env-id', singleIds.infraEnv, '--cluster-id', singleIds.cluster],
  ...['--host-id', singleIds.host, '--boot-device', '/dev/sda', '--url', url],
];

function worldOf({ role, isControlPlaneDone, own: known = {} }: SingleHostPlan) {
  const member = { clusterId: singleIds.cluster, infraEnvId: singleIds.infraEnv };
  const done = { role: 'master', status: 'installed', stage: 'Done' } as const;
  const rebooting = { role: 'master', stage: 'Rebooting' } as const;
  const other = isControlPlaneDone ? done : rebooting;
  const isBootstrap = role === 'bootstrap';
  const own = { role: isBootstrap ? 'master' : role, isBootstrap } as const;
  return {
    cluster: clusterSeed({ id: singleIds.cluster }),
    hosts: [
      hostSeed({ ...member, id: singleIds.host, hostname: 'h', ...own, ...known }),
      hostSeed({ ...member, ...other, hostname: 'm1' }),
      hostSeed({ ...member, ...other, hostname: 'm2' }),
    ],
  };
}
