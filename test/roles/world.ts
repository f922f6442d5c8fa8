import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { dirname, join, relative } from 'node:path';
import type { z } from 'zod';
import { buildMachine, HostPlan } from '../../mocks/host/build-machine.ts';
import { publish } from '../../mocks/host/images.ts';
import type { Machine } from '../../mocks/host/machine.ts';
import type { Config } from '../../src/config/schema.ts';
import { layeringSupport } from '../../src/layering/manifests/release-support.ts';
import { renderedName } from '../layering/rendered.ts';
import { workerPointer } from '../layering/worker.ts';
import { authority } from '../support/authority.ts';
import { type FakeInventory, fakeInventory, inventoryHost } from '../support/fake-inventory.ts';
import type { FakeKube } from '../support/fake-kube.ts';
import {
  bootstrapFile,
  clusterWorld,
  giveControlPlane,
  layeredBootstrapFile,
  readyCluster,
} from './control-plane.ts';
import type { Layering } from './corners.ts';
import { hostFolder } from './host-folders.ts';
import {
  giveRelease,
  giveWorkerImage,
  makeLayered,
  type Masters,
  mastersFinal,
  servedAnnotations,
  takesImage,
} from './layered.ts';

const inBase64 = (content: object): string =>
  `data:;base64,${Buffer.from(JSON.stringify(content)).toString('base64')}`;
/** A pointer with its rendered config embedded, which contains files. */
const pointerTo = (files: readonly { readonly path: string; readonly content: object }[]): string =>
  JSON.stringify({
    ignition: {
      version: '3.2.0',
      config: {
        merge: [
          {
            source: inBase64({
              ignition: { version: '3.4.0' },
              storage: {
                files: files.map(({ path, content }) => ({
                  path,
                  contents: { source: inBase64(content) },
                })),
              },
            }),
          },
        ],
      },
    },
  });
const encapsulated = (osImageURL: string) => ({
  path: '/etc/ignition-machine-config-encapsulated.json',
  content: { metadata: { name: renderedName('master') }, spec: { osImageURL } },
});
/** A pointer with the final operating system in it. */
export const ignition = pointerTo([encapsulated('registry.example/final@sha256:1')]);
/** The same for masters with a built OS image. */
const layeredIgnition = pointerTo([encapsulated(mastersFinal), servedAnnotations]);
/** An image that passes for one. */
export const image = Buffer.alloc(4096);
image.write('EFI PART', 512, 'latin1');
/** Files that the cases read, on every machine. */
const files: Readonly<Record<string, string | Uint8Array>> = {
  'opt/host.ign': ignition,
  'run/media/iso/image.raw': image,
  'ostree/repo/refs/heads/coreos/node-image': '',
  'etc/NetworkManager/system-connections/eth0.nmconnection': '[ipv4]',
  'opt/network.yaml': 'interfaces:\n  - name: eno1\n    type: ethernet\n    state: up\n',
  'opt/ca.pem': authority,
  'bin/sh': '',
  'opt/hooks/before': '#!/bin/sh\necho $INSTALL_DISK\n',
  'opt/hooks/after': '#!/bin/sh\necho $INSTALL_IMAGE\n',
};
/** The digest of the image. */
export const imageSha256 = createHash('sha256').update(image).digest('hex');
/** The URL of the image for corners that use one. */
export const imageUrl = 'http://mirror.example/image.raw';

/** A machine without an installation. */
function newMachine(plan: Partial<z.input<typeof HostPlan>>): Machine {
  const root = hostFolder();
  const write = { seconds: 0.002, flushSeconds: 0, lineMillis: 1 };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), content, {
      mode: /^(?:bin|opt\/hooks)\//.test(path) ? 0o755 : 0o644,
    });
  }
  const machine = buildMachine(HostPlan.parse({ name: 'master-0', write, ...plan }), root);
  giveControlPlane(machine);
  return machine;
}

/** The host, its configuration and its installation. */
export interface Host {
  readonly config: Config;
  readonly plan: Partial<z.input<typeof HostPlan>>;
  readonly layering?: Layering | undefined;
}

/** The state that outlives a process of the agent. */
export interface World {
  readonly machine: Machine;
  readonly kube: FakeKube;
  readonly inventory: FakeInventory;
  /**
   * The number of starts and ends of the agent's actions on the host, and of state changes of its
   * units.
   */
  moves: number;
}

/** The number of changes to a world. */
export const movesOf = ({ moves, kube, inventory }: World): number =>
  moves + kube.writes.length + inventory.calls.length;

/** The state of a host before its first process. */
export function newWorld({ plan, config, layering }: Host): World {
  const machine = newMachine(plan);
  const kube = readyCluster();
  if (layering !== undefined) {
    giveRelease(machine, layering.buildError);
    makeLayered(kube, mastersOf(config, layering));
  }
  if (takesImage(config)) giveWorkerImage(machine);
  publish(machine.images, 'registry.example/os:1', {
    digest: `sha256:${'2'.repeat(64)}`,
    labels: {},
  });
  const inventory = fakeInventory({
    ignition: ignitionOf({ config, layering }),
    files: {
      'bootstrap.ign': layering === undefined ? bootstrapFile : layeredBootstrapFile(config),
    },
    hosts: [
      inventoryHost({ id: 'H', name: 'master-0', addresses: ['192.168.126.10'] }),
      inventoryHost({ id: '1', stage: 'Done', addresses: ['192.168.126.11'] }),
      inventoryHost({ id: '2', name: 'master-2', stage: 'Done', addresses: ['192.168.126.12'] }),
    ],
  });
  const world: World = { machine, kube, inventory, moves: 0 };
  machine.units.follow(() => {
    world.moves += 1;
  });
  return world;
}

const ignitionOf = ({ config, layering }: Pick<Host, 'config' | 'layering'>): string => {
  if (takesImage(config)) return workerPointer;
  return layering === undefined ? ignition : layeredIgnition;
};

/** The running system of the masters when this host reads them. */
function mastersOf({ cluster }: Config, { buildError }: Layering): Masters {
  const { kind } = layeringSupport(cluster.openshiftVersion);
  return buildError !== undefined || kind === 'submit' ? {} : { image: mastersFinal };
}

/** The final state of a host after the agent: the same after any disturbance. */
export function stateOf({ machine, kube }: World): unknown {
  const { root } = machine.files;
  return {
    cluster: clusterWorld(kube),
    installed: machine.installed,
    deployments: [...machine.deployments],
    reboot: machine.reboot,
    devices: machine.devices
      .all()
      .map(({ kname, type, parents, content }) => [kname, type, parents, content?.label]),
    labels: machine.firmware.entries.map(({ label }) => label),
    boots: machine.firmware.order.map(
      (number) => machine.firmware.entries.find((entry) => entry.number === number)?.label,
    ),
    images: [...machine.images.inRegistries.keys()].toSorted(),
    isServing: machine.images.isServing,
    units: machine.units.all().filter(({ name }) => name.startsWith('bootwright')),
    files: ['opt', 'boot', 'ostree', 'root', 'etc/mcs', '.partitions'].flatMap((folder) =>
      filesBelow(join(root, folder), root),
    ),
    mounts: machine.devices.mounts.map(({ target }) => target),
    unknown: machine.unknown,
  };
}

const filesBelow = (folder: string, root: string): readonly unknown[] =>
  !existsSync(folder)
    ? []
    : readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .toSorted()
        .map((path) => [relative(root, path), readFileSync(path, 'utf8')]);
