import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import type { HostPlan } from '../../mocks/host/build-machine.ts';
import type { ConfigInput } from '../../src/config/schema.ts';
import { cornerOf, type Kind, ownController } from './corners.ts';
import {
  expectAlikeAfterEachWrite,
  expectAlikeAfterTwoCrashes,
  install,
  unplanned,
} from './processes.ts';
import { imageSha256 } from './world.ts';

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
  [
    'a master with the final operating system before the first boot',
    'master',
    { image: { skipMcoReboot: true } },
    {},
  ],
  [
    'a worker with Ignition from a file',
    'worker',
    { ignition: { source: 'file', file: '/opt/host.ign' } },
    {},
  ],
  [
    'a master with an image file',
    'master',
    {
      image: {
        file: '/run/media/iso/image.raw',
        sha256: imageSha256,
      },
    },
    {},
  ],
  [
    'a worker that keeps a partition',
    'worker',
    { image: { writerArgs: ['--save-partlabel', 'data'] } },
    { disks: [{ name: 'sda', leftovers: 'data' }] },
  ],
];

describe.each(cases)('%s', (...[, role, turn, plan]) => {
  const config = cornerOf(role, turn);
  const host = { config, plan };

  it('is installed by one run of the agent', async () => {
    const { machine, life } = await install(host);
    expect(life.error).toBeUndefined();
    expect(life.outcome).toBe('left the host');
    const isOnDisk = config.image.existingRoot === '';
    expect(machine.installed?.disk).toBe(isOnDisk ? 'sda' : undefined);
    expect(machine.deployments.size).toBe(isOnDisk && !config.image.skipMcoReboot ? 0 : 1);
    expect(machine.unknown).toEqual([]);
    expect(unplanned(machine, config)).toEqual([]);
  });

  it('is installed identically when the agent is killed after each write to its journal, with and without unflushed lines', async () => {
    const straight = await install(host);
    await expectAlikeAfterEachWrite(host, straight, [true, false]);
    expect(straight.marks.length).toBeGreaterThan(10);
  });

  it('is installed identically when the agent is killed twice, before commands and after writes', async () => {
    const straight = await install(host);
    await expectAlikeAfterTwoCrashes(host, straight);
  });
});
