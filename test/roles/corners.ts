import { Config, type ConfigInput } from '../../src/config/schema.ts';

/** One way to configure a host. */
export interface Corner {
  readonly name: string;
  readonly config: Config;
}

const base: ConfigInput = {
  cluster: { id: 'C', infraEnvId: 'I', hostId: 'H', openshiftVersion: '4.20.1' },
  service: { url: 'http://inventory.example' },
  disk: { device: '/dev/disk/by-id/wwn-0x5000c500a1b2c301' },
  images: { agent: 'registry.example/agent:1' },
};

const roles = ['master', 'arbiter', 'worker'] as const;

/** What the conditions of the roles ask about, one by one. */
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
  ['with a reboot at once', { finish: { rebootDelayMinutes: 0 } }],
];

/** Every role with every turn. */
export const corners: readonly Corner[] = roles.flatMap((role) =>
  turns.map(([name, turn]) => ({
    name: `${role} ${name}`,
    config: Config.parse({ ...merged(base, turn), role }),
  })),
);

/** The corner of a role and a turn. */
export function cornerOf(role: (typeof roles)[number], turn: ConfigInput): Config {
  return Config.parse({ ...merged(base, turn), role });
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
