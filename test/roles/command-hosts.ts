// Hosts that together run each command of each role, and a process on one of them.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { publish } from '../../mocks/host/images.ts';
import { fakeInventory, inventoryHost } from '../support/fake-inventory.ts';
import { memoryJournal } from '../support/memory-journal.ts';
import { bootstrapFile } from './control-plane.ts';
import { cornerOf, ownController } from './corners.ts';
import { faultyHost, type FaultOf, workClock } from './faulty-host.ts';
import { type Life, live } from './processes.ts';
import { withStepHosts } from './step-hosts.ts';
import { type Host, ignition, imageSha256, imageUrl, newWorld, type World } from './world.ts';

/** A host, and its differences before its process. */
interface CommandHost {
  readonly host: Host;
  readonly prepare?: (world: World) => World;
}

/** Runs one process on such a host; `faultOf` sees each command of each step. */
export async function runCommands(
  { host, prepare = (world) => world }: CommandHost,
  faultOf: FaultOf,
): Promise<Life> {
  const world = prepare(newWorld(host));
  const clock = workClock();
  const life = await live(world, {
    config: host.config,
    journal: memoryJournal(),
    commands: 1e6,
    time: clock,
    changed: (role) =>
      withStepHosts(role, (step, own) => faultyHost(own, { step, clock, faultOf })),
  });
  world.machine.units.reset([], []);
  rmSync(world.machine.files.root, { recursive: true });
  return life;
}

const built = {
  cluster: { openshiftVersion: '4.21.0' },
  layering: { pushTo: 'registry.example.com/ocl' },
};

/** A unit that starts, fails, and is not restarted. */
const failing =
  (unit: string) =>
  (world: World): World => {
    world.machine.units.onStart.set(unit, (become) => {
      become('active');
      setImmediate(() => become('failed', { sub: 'failed', result: 'exit-code' }));
    });
    return world;
  };

const nodeImage = 'registry.example/node:4.20.1-x86_64';

/** By what brings commands that no other host runs. */
export const commandHosts: Readonly<Record<string, CommandHost>> = {
  'a worker in the running root': {
    host: {
      config: cornerOf('worker', {
        image: {
          existingRoot: 'registry.example/os:1',
          writerArgs: ['--append-karg', 'nosmt', '--delete-karg', 'quiet', '--copy-network'],
        },
      }),
      plan: {},
    },
  },
  'an arbiter with an image file, that ironic boots': {
    host: {
      config: cornerOf('arbiter', {
        image: { file: '/run/media/iso/image.raw', sha256: imageSha256 },
        hooks: { before: '/opt/hooks/before', after: '/opt/hooks/after' },
        network: { nmstate: '/opt/network.yaml' },
        registries: { ca: '/opt/ca.pem' },
      }),
      plan: { units: ['ironic-agent.service'] },
    },
  },
  'a master with the image of a stream': {
    host: {
      config: cornerOf('master', {
        image: { stream: '/opt/stream.json', nodeImage },
      }),
      plan: {},
    },
    prepare: (world) => {
      const disk = { location: imageUrl, sha256: imageSha256 };
      const metal = { release: '9.6', formats: { 'raw.gz': { disk } } };
      const stream = {
        stream: 'rhel-9.6',
        architectures: { x86_64: { artifacts: { metal } } },
      };
      const file = join(world.machine.files.root, 'opt/stream.json');
      writeFileSync(file, JSON.stringify(stream));
      publish(world.machine.images, nodeImage, { digest: `sha256:${'1'.repeat(64)}`, labels: {} });
      return world;
    },
  },
  'a worker whose disk takes no image': {
    host: {
      config: cornerOf('worker', {}),
      plan: {
        write: { seconds: 0.002, flushSeconds: 0, lineMillis: 1, failsAtPercent: [50, 50, 50] },
      },
    },
  },
  'a master of Power whose disk keeps a partition': {
    host: {
      config: cornerOf('master', { image: { writerArgs: ['--save-partlabel', 'data'] } }),
      plan: { disks: [{ name: 'sda', leftovers: 'data' }] },
    },
    prepare: (world) => {
      const folder = join(world.machine.files.root, 'usr/sbin');
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'bootlist'), '');
      return world;
    },
  },
  'a master that was installed before': {
    host: { config: cornerOf('master', {}), plan: {} },
    prepare: (world) => {
      const { firmware } = world.machine;
      const partition = { uuid: '00000000-0000-4000-8000-000000000000', number: 2 };
      const old = { number: '0007', label: 'Red Hat Enterprise Linux', partition };
      firmware.entries = [...firmware.entries, old];
      return world;
    },
  },
  'a master whose firmware puts a new entry last': {
    host: { config: cornerOf('master', {}), plan: {} },
    prepare: (world) => {
      let { order } = world.machine.firmware;
      let isFirst = true;
      Object.defineProperty(world.machine.firmware, 'order', {
        get: () => order,
        set: (wanted: readonly string[]) => {
          order = isFirst ? [...wanted.slice(1), ...wanted.slice(0, 1)] : wanted;
          isFirst = false;
        },
      });
      return world;
    },
  },
  'a master of an appliance with LVM on its disk': {
    host: {
      config: cornerOf('master', { image: { skipMcoReboot: true } }),
      plan: { registryKibibytes: 4, disks: [{ name: 'sda', leftovers: 'lvm' }] },
    },
  },
  'a single node with RAID on its disk and another to format': {
    host: {
      config: cornerOf('single node', { disk: { format: ['/dev/sdb'] } }),
      plan: {
        disks: [
          { name: 'sda', leftovers: 'raid' },
          { name: 'sdb', leftovers: 'lvm' },
        ],
      },
    },
  },
  'a worker with the image of its pool': {
    host: {
      config: cornerOf('worker', {
        cluster: { openshiftVersion: '4.21.0' },
        layering: { repository: 'registry.example/ocl/worker' },
      }),
      plan: {},
    },
  },
  'a bootstrap host without oc and without a name, of OpenShift 4.6': {
    host: {
      config: cornerOf('bootstrap', {
        cluster: { openshiftVersion: '4.6.62' },
        images: ownController,
      }),
      plan: { hasOc: false, nodeImageSeconds: 0.001, hostname: 'localhost' },
    },
  },
  'a bootstrap host': { host: { config: cornerOf('bootstrap', {}), plan: {} } },
  'a bootstrap host whose progress.service fails': {
    host: { config: cornerOf('bootstrap', { bootstrap: { lanes: 'in-turn' } }), plan: {} },
    prepare: failing('progress.service'),
  },
  'a single node whose bootkube.service fails': {
    host: { config: cornerOf('single node', {}), plan: {} },
    prepare: failing('bootkube.service'),
  },
  'a bootstrap host that builds operating systems': {
    host: { config: cornerOf('bootstrap', built), plan: {}, layering: {} },
  },
  'a bootstrap host that hands operating systems over': {
    host: { config: cornerOf('bootstrap', {}), plan: {}, layering: {} },
  },
  'a bootstrap host that the service knows no addresses of': {
    host: {
      config: cornerOf('bootstrap', { images: ownController }),
      plan: {},
    },
    prepare: (world) => ({
      ...world,
      inventory: fakeInventory({
        ignition,
        files: { 'bootstrap.ign': bootstrapFile },
        hosts: [
          inventoryHost({ id: 'H', name: 'master-0', addresses: [] }),
          inventoryHost({ id: '1', stage: 'Done', addresses: ['192.168.126.11'] }),
          inventoryHost({
            id: '2',
            name: 'master-2',
            stage: 'Done',
            addresses: ['192.168.126.12'],
          }),
        ],
      }),
    }),
  },
};
