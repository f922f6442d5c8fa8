import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import type { HostPlan } from '../../mocks/host/build-machine.ts';
import type { ConfigInput } from '../../src/config/schema.ts';
import { cornerOf, corners, type Kind, ownController } from './corners.ts';
import {
  expectAlikeAfterEachWrite,
  expectAlikeAfterTwoCrashes,
  install,
  unplanned,
} from './processes.ts';

type Case = readonly [
  name: string,
  kind: Kind,
  turn: ConfigInput,
  plan: Partial<z.input<typeof HostPlan>>,
];

const cases: readonly Case[] = [
  ['a bootstrap host', 'bootstrap', {}, {}],
  [
    'a bootstrap host of OpenShift 4.6 without oc, named localhost',
    'bootstrap',
    { cluster: { openshiftVersion: '4.6.62' }, images: ownController },
    { hasOc: false, nodeImageSeconds: 0.001, hostname: 'localhost' },
  ],
  ['a single node, BIOS', 'single node', {}, { firmware: 'bios' }],
  ['a master with a registry on its medium', 'master', {}, { registryKibibytes: 64 }],
  [
    'a master, UEFI, with LVM on the disk',
    'master',
    {},
    { disks: [{ name: 'sda', leftovers: 'lvm' }] },
  ],
  ['a master, BIOS', 'master', {}, { firmware: 'bios' }],
  ['a worker', 'worker', {}, {}],
  [
    'a worker that keeps a partition',
    'worker',
    { image: { writerArgs: ['--save-partlabel', 'data'] } },
    { disks: [{ name: 'sda', leftovers: 'data' }] },
  ],
  [
    'an arbiter with a further disk to format',
    'arbiter',
    { disk: { format: ['/dev/sdb'] } },
    { disks: [{ name: 'sda' }, { name: 'sdb', leftovers: 'raid' }] },
  ],
  ['a master that ironic boots', 'master', {}, { units: ['ironic-agent.service'] }],
  [
    'a worker in the running root',
    'worker',
    {
      image: {
        existingRoot: 'registry.example/os:1',
        writerArgs: ['--append-karg', 'nosmt', '--delete-karg', 'quiet'],
      },
    },
    {},
  ],
];

const hosts = cases.map(([name, kind, turn, plan]) => ({
  name,
  host: { config: cornerOf(kind, turn), plan },
  losses: [true, false],
}));

/** Corners with builds of OS images have a suite of their own. */
const quick = corners.filter(({ layering }) => layering === undefined);

/** A disk with a partition that can be kept, and another disk that can be formatted. */
const disks = [{ name: 'sda', leftovers: 'data' as const }, { name: 'sdb' }];
const cornerHosts = quick.map(({ name, config, plan }) => ({
  name: `a ${name}`,
  host: { config, plan: { disks, ...plan } },
  losses: [true],
}));

describe.each([...hosts, ...cornerHosts])('$name', ({ host, losses }) => {
  const { config } = host;

  it('is installed by one run of the agent', async () => {
    const { machine, life } = await install(host);
    expect(life.error).toBeUndefined();
    expect(life.outcome).toBe('left the host');
    const { existingRoot, skipMcoReboot } = config.image;
    expect(machine.installed?.disk).toBe(existingRoot === '' ? 'sda' : undefined);
    // The control plane of a single node has no final OS before its first boot.
    const hasFinal = skipMcoReboot && config.cluster.controlPlaneCount !== 1;
    const isDeployed = existingRoot !== '' || config.layering.repository !== '' || hasFinal;
    expect(machine.deployments.size).toBe(isDeployed ? 1 : 0);
    expect(machine.unknown).toEqual([]);
    expect(unplanned(machine, config)).toEqual([]);
  });

  it('is installed identically when the agent is killed after each write to its journal', async () => {
    const straight = await install(host);
    await expectAlikeAfterEachWrite(host, straight, losses);
    expect(straight.marks.length).toBeGreaterThan(10);
  });
});

it.each(hosts)(
  '$name is installed identically when the agent is killed twice, before commands and after writes',
  async ({ host }) => {
    const straight = await install(host);
    await expectAlikeAfterTwoCrashes(host, straight);
  },
);
