import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { dirname, join, relative } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { z } from 'zod';
import { buildMachine, HostPlan } from '../../mocks/host/build-machine.ts';
import type { Machine } from '../../mocks/host/machine.ts';
import type { Config } from '../../src/config/schema.ts';
import { describeRole } from '../../src/engine/describe.ts';
import { runRole, type RunOutcome } from '../../src/engine/run.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import { deliveryOf } from '../../src/layering/delivery/matrix.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { ImageRelay } from '../../src/ports/image-relay.ts';
import { chooseRole } from '../../src/roles/choose.ts';
import { type FakeInventory, fakeInventory, inventoryHost } from '../support/fake-inventory.ts';
import type { FakeKube } from '../support/fake-kube.ts';
import { fakeObjects } from '../support/fake-objects.ts';
import { fakeRandom } from '../support/fake-random.ts';
import { fakeWeb } from '../support/fake-web.ts';
import { memoryJournal, type MemoryJournal } from '../support/memory-journal.ts';
import { briskClock } from './brisk-clock.ts';
import {
  bootstrapFile,
  clusterWorld,
  giveControlPlane,
  layeredBootstrapFile,
  readyCluster,
} from './control-plane.ts';
import { renderedName } from '../layering/rendered.ts';
import { servedToWorker, workerCase, workerPointer } from '../layering/worker.ts';
import type { Layering } from './corners.ts';
import { hostFolder } from './host-folders.ts';
import { giveRelease, makeLayered, mastersFinal, servedAnnotations } from './layered.ts';
import { giveWorkerImage, takesImage } from './layered-worker.ts';
import { machineHost, type Power } from './machine-host.ts';

const inBase64 = (content: object): string =>
  `data:;base64,${Buffer.from(JSON.stringify(content)).toString('base64')}`;
/** A pointer that carries its rendered config, with files in it. */
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
const ignition = pointerTo([encapsulated('registry.example/final@sha256:1')]);
/** The same where the operating system of the masters was built. */
const layeredIgnition = pointerTo([encapsulated(mastersFinal), servedAnnotations]);
/** What the cluster serves a worker. */
const workerConfig = servedToWorker();
/** An image that looks like one. */
export const image = Buffer.alloc(4096);
image.write('EFI PART', 512, 'latin1');
/** Files that the cases read, on every machine. */
const files: Readonly<Record<string, string | Uint8Array>> = {
  'opt/host.ign': ignition,
  'run/media/iso/image.raw': image,
  'ostree/repo/refs/heads/coreos/node-image': '',
  'etc/NetworkManager/system-connections/eth0.nmconnection': '[ipv4]',
};
/** The digest of the image. */
export const imageSha256 = createHash('sha256').update(image).digest('hex');
/** The URL of the image for those who take it from one. */
export const imageUrl = 'http://mirror.example/image.raw';

/** Hands the image on without a socket: the stand-in of the writer reads any address. */
const relay: ImageRelay = {
  serve: () =>
    Promise.resolve({
      url: `data:application/octet-stream;base64,${image.toString('base64')}`,
      outcome: () => ({ isAsked: true, bytes: image.length, resumed: 0, sha256: imageSha256 }),
      close: () => Promise.resolve(),
    }),
};

/** A machine that nothing was installed on. */
export function newMachine(plan: Partial<z.input<typeof HostPlan>>): Machine {
  const root = hostFolder();
  const write = { seconds: 0.002, flushSeconds: 0, lineMillis: 1 };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  const machine = buildMachine(HostPlan.parse({ name: 'master-0', write, ...plan }), root);
  giveControlPlane(machine);
  return machine;
}

/** One process of the agent, from its start to its end. */
export interface Life {
  readonly outcome?: RunOutcome;
  readonly error?: unknown;
  readonly events: readonly RunEvent[];
}

const killed = (): Error => new Error('the agent was killed');

/** A process that is killed before one of its commands, or before that: it does nothing on the host any more. */
function powerFor(
  commands: number,
): Power & { readonly isGone: () => boolean; readonly kill: () => void } {
  let left = commands;
  return {
    isGone: () => left < 0,
    kill: () => (left = -1),
    check: () => {
      left -= 1;
      if (left < 0) throw killed();
    },
  };
}

/** What outlives a process of the agent. */
interface World {
  readonly machine: Machine;
  readonly kube: FakeKube;
  readonly inventory: FakeInventory;
}

function newWorld({ plan, config, layering }: Host): World {
  const machine = newMachine(plan);
  const kube = readyCluster();
  if (layering !== undefined) {
    const isServed = layering.buildTrouble === undefined && isServedByUs(config);
    giveRelease(machine, layering.buildTrouble);
    makeLayered(kube, isServed ? mastersFinal : undefined);
  }
  if (takesImage(config)) giveWorkerImage(machine);
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
  return { machine, kube, inventory };
}

const ignitionOf = ({ config, layering }: Pick<Host, 'config' | 'layering'>): string => {
  if (takesImage(config)) return workerPointer;
  return layering === undefined ? ignition : layeredIgnition;
};

/** Older releases roll the image out when this host has gone. */
const isServedByUs = ({ cluster, layering }: Config): boolean =>
  deliveryOf(cluster.openshiftVersion, layering.olderReleases).kind !== 'after-join';

/** One process of the agent: it ends with its role, or when its journal or its power says so. */
async function live(
  { machine, kube, inventory }: World,
  { config, journal, commands }: { config: Config; journal: MemoryJournal; commands: number },
): Promise<Life> {
  const power = powerFor(commands);
  const events: RunEvent[] = [];
  const brisk = briskClock();
  const clock: Clock = {
    ...brisk,
    // Nothing waits on in a process that is gone.
    sleep: (duration, signal) =>
      power.isGone() ? Promise.reject(killed()) : brisk.sleep(duration, signal),
  };
  try {
    const outcome = await runRole({
      role: chooseRole(config),
      config,
      ports: {
        host: machineHost(machine, power),
        inventory,
        kube,
        web: fakeWeb().with(imageUrl, image).with(workerCase.url, workerConfig),
        objects: ['master', 'arbiter', 'worker'].reduce(
          (store, role) => store.with(`ignition/C/${role}.ign`, ignition),
          fakeObjects().with('ignition/C/bootstrap.ign', bootstrapFile),
        ),
        random: fakeRandom(),
        imageRelay: relay,
        clock,
      },
      clock,
      journal: {
        ...journal,
        append: async (line, options) => {
          if (power.isGone()) throw killed();
          try {
            await journal.append(line, options);
          } catch (error) {
            // It died here: what else it had begun does not go on either.
            power.kill();
            throw error;
          }
        },
      },
      header: { version: '1', fingerprint: 'f', bootId: 'b' },
      run: 'r',
      sinks: [(event) => events.push(event)],
      signal: new AbortController().signal,
    });
    return { outcome, events };
  } catch (error) {
    return { error, events };
  }
}

/** What is left of a host once the agent is through: the same whatever happened on the way. */
function stateOf({ machine, kube }: World): unknown {
  const { root } = machine.files;
  return {
    cluster: clusterWorld(kube),
    installed: machine.installed,
    deployments: [...machine.deployments],
    reboot: machine.reboot,
    devices: machine.devices.all().map(({ kname, type, parents }) => [kname, type, parents]),
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

/** A run that nothing disturbed. */
export interface Straight extends World {
  readonly life: Life;
  /** What it left. */
  readonly state: unknown;
  /** Lines that it wrote to its journal. */
  readonly appends: number;
}

/** How often and where the agent dies. */
export interface Lives {
  readonly crashAfter: number;
  readonly losesUnflushed: boolean;
  /** After how many commands each life ends that is killed. */
  readonly commands: readonly number[];
}

/** Programs that a machine ran and that no step of the plan shows. */
export function unplanned(machine: Machine, config: Config): readonly string[] {
  const { items, always, follow } = describeRole(chooseRole(config), config);
  const steps = items.flatMap((item) =>
    item.kind === 'step' ? [item.step] : item.lanes.flatMap((lane) => lane.steps),
  );
  const planned = new Set(
    [...steps, ...always, ...follow].flatMap(({ commands }) =>
      commands.map(([program]) => program),
    ),
  );
  const ran = new Set(machine.ran.map(({ argv: [program = ''] }) => program));
  return [...ran].filter((program) => !planned.has(program));
}

const count = (machine: Machine, program: string): number =>
  machine.ran.filter(({ argv }) => argv[0] === program).length;

/** What is installed and how. */
export interface Host {
  readonly config: Config;
  readonly plan: Partial<z.input<typeof HostPlan>>;
  readonly layering?: Layering | undefined;
}

/** Installs a machine in one life. */
export async function install(host: Host): Promise<Straight> {
  const { config } = host;
  const world = newWorld(host);
  const journal = memoryJournal();
  const life = await live(world, { config, journal, commands: 1e6 });
  return { ...world, life, state: stateOf(world), appends: journal.lines.length };
}

/** Lives until one is not killed, and holds what it leaves against the straight run. */
export async function expectAlike(host: Host, straight: Straight, lives: Lives): Promise<void> {
  const { config } = host;
  const world = newWorld(host);
  const { machine } = world;
  const journal = memoryJournal([], lives);
  for (const commands of lives.commands) {
    await live(world, { config, journal, commands });
    journal.restart();
  }
  const last = await live(world, { config, journal, commands: 1e6 });
  expect(last.error).toBeUndefined();
  expect(stateOf(world)).toEqual(straight.state);
  expect(count(machine, 'shutdown')).toBe(count(straight.machine, 'shutdown'));
  // The live system ends; a unit that watched on would look for files that are gone.
  machine.units.reset([], []);
  rmSync(machine.files.root, { recursive: true });
}

/** Hosts that are installed beside each other while one waits; more would only fill the memory. */
const atOnce = 12;

/** Crashes a host after each write of its straight run. */
export async function expectAlikeAfterEachWrite(
  host: Host,
  straight: Straight,
  losesUnflushed: boolean,
): Promise<void> {
  let crashAfter = 0;
  const crashOn = async (): Promise<void> => {
    while (crashAfter < straight.appends) {
      crashAfter += 1;
      await expectAlike(host, straight, { crashAfter, losesUnflushed, commands: [1e6] });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, crashOn));
}

/** Kills the agent before commands of two lives and after a write, in a dozen ways. */
export async function expectAlikeAfterTwoDeaths(host: Host, straight: Straight): Promise<void> {
  const most = straight.machine.ran.length;
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: straight.appends }),
      fc.tuple(fc.integer({ min: 0, max: most }), fc.integer({ min: 0, max: most })),
      fc.boolean(),
      (crashAfter, commands, losesUnflushed) =>
        expectAlike(host, straight, { crashAfter, commands, losesUnflushed }),
    ),
    { numRuns: 12 },
  );
}
