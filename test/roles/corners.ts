import type { z } from 'zod';
import type { HostPlan } from '../../mocks/host/build-machine.ts';
import { Config, type ConfigInput } from '../../src/config/schema.ts';

/** One configuration of a host. */
export interface Corner {
  readonly name: string;
  readonly config: Config;
  /** The properties of the host that differ from every other host of a test. */
  readonly plan?: Partial<z.input<typeof HostPlan>>;
  readonly layering?: Layering;
}

/** The manifests of the cluster contain MachineOSConfigs. */
export interface Layering {
  /** The error message of the builder; undefined if the build succeeds. */
  readonly buildError?: string;
}

const base: ConfigInput = {
  cluster: { id: 'C', infraEnvId: 'I', hostId: 'H', openshiftVersion: '4.20.1' },
  service: { url: 'http://inventory.example' },
  disk: { device: '/dev/disk/by-id/wwn-0x5000c500a1b2c301' },
  images: { agent: 'registry.example/agent:1', mco: 'registry.example/mco:1' },
};

/** The configured role, and the number of control-plane nodes of the cluster. */
const roles = {
  bootstrap: { role: 'bootstrap', controlPlaneCount: 3 },
  master: { role: 'master', controlPlaneCount: 3 },
  arbiter: { role: 'arbiter', controlPlaneCount: 2 },
  worker: { role: 'worker', controlPlaneCount: 0 },
  'single node': { role: 'bootstrap', controlPlaneCount: 1 },
} as const;

/** A kind of host. */
export type Kind = keyof typeof roles;

/** The settings in the conditions of the roles, one by one. */
const turns: readonly (readonly [string, ConfigInput])[] = [
  ['as the service asks', {}],
  ['without cleanup', { disk: { cleanup: false } }],
  ['with further disks to format', { disk: { format: ['/dev/sdb'] } }],
  ['with a kept partition', { image: { writerArgs: ['--save-partlabel', 'data'] } }],
  ['into the running root', { image: { existingRoot: 'registry.example/os:1' } }],
  ['with the final OS before the first boot', { image: { skipMcoReboot: true } }],
  ['with an image file', { image: { source: 'file', file: '/run/media/iso/image.raw' } }],
  ['with an image URL', { image: { source: 'url', url: 'http://mirror.example/image.raw' } }],
  ['with Ignition from a file', { ignition: { source: 'file', file: '/opt/host.ign' } }],
  [
    'with Ignition from an object store',
    { ignition: { source: 's3' }, s3: { endpoint: 'http://s3.example', bucket: 'ignition' } },
  ],
  [
    'without a service',
    { service: { url: '' }, ignition: { source: 'file', file: '/opt/host.ign' } },
  ],
  [
    'with a network by nmstate',
    {
      network: { nmstate: '/opt/network.yaml' },
      image: { writerArgs: ['--copy-network', '--network-dir=/opt/install-dir/network'] },
    },
  ],
  [
    'with hooks and registries',
    {
      hooks: { before: '/opt/hooks/before', after: '/opt/hooks/after' },
      registries: {
        mirrors: [{ source: 'quay.io', mirrors: ['m.example:5000'] }],
        ca: '/opt/ca.pem',
      },
    },
  ],
  ['with a reboot at once', { finish: { rebootDelayMinutes: 0 } }],
];

const self = 'registry.example/bootwright:1';

/** The service names our own image as the controller image. */
export const ownController = { self, controller: self } satisfies ConfigInput['images'];
/** Settings that only a host with a temporary control plane reads. */
const bootstrapTurns: typeof turns = [
  ['with its lanes in turn', { bootstrap: { lanes: 'in-turn' } }],
  ['of OpenShift 4.6', { cluster: { openshiftVersion: '4.6.62' }, images: ownController }],
  ['whose controller is this program too', { images: ownController }],
];

/** Settings that only a worker reads. */
const workerTurns: typeof turns = [
  ['with the image of its pool', layered('4.21.0', { repository: 'registry.example/ocl/worker' })],
  [
    'with the image that its cluster tells of',
    { ...layered('4.21.0', {}), image: { skipMcoReboot: true } },
  ],
];

/** The masters have a MachineOSConfig of their own; workers get a default one. */
const pushTo = 'registry.example.com/ocl';

/** Settings of a host that may build OS images. */
const layeringTurns: readonly (readonly [string, ConfigInput, Layering?])[] = [
  ['with operating systems that are built', layered('4.21.0', { pushTo }), {}],
  ['with operating systems that its cluster builds', layered('4.20.1', {}), {}],
  [
    'with an operating system that cannot be built',
    layered('4.21.0', { failurePolicy: 'fallback-stock' }),
    { buildError: 'Error: building at STEP "RUN dnf install": exit status 1' },
  ],
  ['without any, on a release that could', layered('4.21.0', {})],
  ['without layering', layered('4.21.0', { mode: 'off' })],
];

function layered(openshiftVersion: string, layering: ConfigInput['layering']): ConfigInput {
  return { cluster: { openshiftVersion }, layering };
}

const turnsOf: Partial<Record<Kind, typeof turns>> = {
  bootstrap: bootstrapTurns,
  worker: workerTurns,
};

const withData: Corner['plan'] = { disks: [{ name: 'sda', leftovers: 'data' }] };

/** The live medium of an appliance contains a registry. */
const appliance: Corner['plan'] = { registryKibibytes: 4 };

/**
 * Settings of a host with a registry on its medium: its disk has the system of the disk image, or
 * the final OS.
 */
const registryTurns: typeof turns = [
  ['with a registry on the medium', {}],
  [
    'with a registry on the medium and the final OS before the first boot',
    { image: { skipMcoReboot: true } },
  ],
];

/**
 * A host that starts a control plane gets its own Ignition config from a service or an object
 * store.
 */
const isPossible = (kind: Kind, { service, ignition }: ConfigInput): boolean =>
  (kind !== 'bootstrap' && kind !== 'single node') ||
  (service?.url !== '' && ignition?.source !== 'file');

/** Every role with every setting. */
export const corners: readonly Corner[] = (Object.keys(roles) as Kind[]).flatMap((kind) => [
  ...[...turns, ...(turnsOf[kind] ?? [])]
    .filter(([, turn]) => isPossible(kind, turn))
    .map(([name, turn]) => ({
      name: `${kind} ${name}`,
      config: cornerOf(kind, turn),
      // The partition to keep exists.
      ...(turn.image?.writerArgs === undefined ? {} : { plan: withData }),
    })),
  ...registryTurns.map(([name, turn]) => ({
    name: `${kind} ${name}`,
    config: cornerOf(kind, turn),
    plan: appliance,
  })),
  ...(kind === 'bootstrap' ? layeringTurns : []).map(([name, turn, layering]) => ({
    name: `${kind} ${name}`,
    config: cornerOf(kind, turn),
    ...(layering === undefined ? {} : { layering }),
  })),
]);

/** The corner of a kind of host and a setting. */
export function cornerOf(kind: Kind, turn: ConfigInput): Config {
  const { role, controlPlaneCount } = roles[kind];
  const input = merged(base, turn);
  return Config.parse({ ...input, role, cluster: { ...input.cluster, controlPlaneCount } });
}

function merged(one: ConfigInput, other: ConfigInput): ConfigInput {
  const sections = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    [...sections].map((section) => {
      const key = section as keyof ConfigInput;
      return [key, { ...(one[key] as object), ...(other[key] as object) }];
    }),
  );
}
