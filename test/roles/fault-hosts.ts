// The hosts for the table of command faults; together they run each command of each role.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { publish } from '../../mocks/host/images.ts';
import { cornerOf, ownController } from './corners.ts';
import { fakeInventory, inventoryHost } from '../support/fake-inventory.ts';
import { bootstrapFile } from './control-plane.ts';
import { type Host, ignition, imageSha256, imageUrl, type World } from './world.ts';

/** A host, and its differences before the first process. */
export interface FaultHost {
  readonly name: string;
  readonly host: Host;
  readonly prepare?: (world: World) => World;
  /** A failed step is repeated on the same host, which costs less than another host. */
  readonly chains?: true;
  /** Error code of its run without any fault of a command. */
  readonly code?: string;
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

/** Cheap ones first: a command runs on the first host that has it. */
export const faultHosts: readonly FaultHost[] = [
  {
    name: 'a worker in the running root',
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
  {
    name: 'an arbiter with an image file, that ironic boots',
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
  {
    name: 'a master with the image of a stream',
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
  {
    name: 'a worker whose disk takes no image',
    host: {
      config: cornerOf('worker', {}),
      plan: {
        write: { seconds: 0.002, flushSeconds: 0, lineMillis: 1, failsAtPercent: [50, 50, 50] },
      },
    },
    code: 'image.disk-error',
  },
  {
    name: 'a master of Power whose disk keeps a partition',
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
  {
    name: 'a master that was installed before',
    host: { config: cornerOf('master', {}), plan: {} },
    prepare: (world) => {
      const { firmware } = world.machine;
      const partition = { uuid: '00000000-0000-4000-8000-000000000000', number: 2 };
      const old = { number: '0007', label: 'Red Hat Enterprise Linux', partition };
      firmware.entries = [...firmware.entries, old];
      return world;
    },
  },
  {
    name: 'a master whose firmware puts a new entry last',
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
  {
    name: 'a master of an appliance with LVM on its disk',
    host: {
      config: cornerOf('master', { image: { skipMcoReboot: true } }),
      plan: { registryKibibytes: 4, disks: [{ name: 'sda', leftovers: 'lvm' }] },
    },
  },
  {
    name: 'a single node with RAID on its disk and another to format',
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
  {
    name: 'a worker with the image of its pool',
    host: {
      config: cornerOf('worker', {
        cluster: { openshiftVersion: '4.21.0' },
        layering: { repository: 'registry.example/ocl/worker' },
      }),
      plan: {},
    },
  },
  {
    name: 'a bootstrap host without oc and without a name, of OpenShift 4.6',
    host: {
      config: cornerOf('bootstrap', {
        cluster: { openshiftVersion: '4.6.62' },
        images: ownController,
      }),
      plan: { hasOc: false, nodeImageSeconds: 0.001, hostname: 'localhost' },
    },
  },
  { name: 'a bootstrap host', host: { config: cornerOf('bootstrap', {}), plan: {} } },
  {
    name: 'a bootstrap host whose progress.service fails',
    host: { config: cornerOf('bootstrap', { bootstrap: { lanes: 'in-turn' } }), plan: {} },
    prepare: failing('progress.service'),
    code: 'cluster.etcd-bootstrap-failed',
  },
  {
    name: 'a single node whose bootkube.service fails',
    host: { config: cornerOf('single node', {}), plan: {} },
    prepare: failing('bootkube.service'),
    code: 'cluster.bootkube-failed',
  },
  {
    name: 'a bootstrap host that builds operating systems',
    host: { config: cornerOf('bootstrap', built), plan: {}, layering: {} },
    chains: true,
  },
  {
    name: 'a bootstrap host that hands operating systems over',
    host: { config: cornerOf('bootstrap', {}), plan: {}, layering: {} },
    chains: true,
  },
  {
    name: 'a bootstrap host that the service knows no addresses of',
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
];
