import { z } from 'zod';
import { inRelease } from '../host/commands/own-registry.ts';
import type { Machine } from '../host/machine.ts';
import {
  credentialsIn,
  labPullSecret,
  type RegistryNetwork,
  type RegistryPlan,
} from '../registries/network.ts';

/** Pools whose operating systems are built. */
export type BuiltPool = 'master' | 'worker';

/** Operating systems that are built during an installation, as a scenario says it. */
export const Layering = z.strictObject({
  /** Registry in which the images end: HOST[:PORT]. */
  registry: z.string().default('registry.example.test'),
  /** Who has the pull secret may only pull there; the push Secret names another user. */
  hasOwnPushUser: z.boolean().default(false),
  /**
   * The release and the images come from this registry, the only one that can be reached; its
   * HOST[:PORT].
   */
  mirror: z.string().optional(),
  /** The registry dies at the first push, for this long. */
  diesForSeconds: z.number().positive().optional(),
  /** What every build ends with; it ends well without it. */
  buildError: z.string().optional(),
  /** Nodes run the system of the release in the end, and the cluster builds by itself. */
  fallsBack: z.boolean().default(false),
});
type Layering = z.infer<typeof Layering>;

/** How a cluster is installed whose operating systems are built meanwhile. */
export interface LayeredPlan extends Partial<Layering> {
  readonly registry: string;
  readonly hasOwnPushUser: boolean;
  readonly openshiftVersion: string;
}

/**
 * Whether a release serves the image of a pool to nodes, and these go by what they were served:
 * from 4.21 on (machine-config-operator, `pkg/server` and `pkg/daemon`).
 */
export function servesImages({ openshiftVersion }: Pick<LayeredPlan, 'openshiftVersion'>): boolean {
  const [major = 0, minor = 0] = openshiftVersion.split('.').map(Number);
  return major > 4 || minor >= 21;
}

/** The pools, in the order of their builds. */
export const builtPools: readonly BuiltPool[] = ['master', 'worker'];

/** Where the release comes from. */
const upstream = 'quay.example.test';

/** The operating system of the release. */
export const releaseOs = `${upstream}/release/os@sha256:${'a'.repeat(64)}`;

/** The release itself. */
export const releaseImage = `${upstream}/release/release@sha256:${'e'.repeat(64)}`;

/** Images of the release that an installation pulls. */
const imagesOfRelease = [releaseOs, releaseImage, inRelease('docker-registry')];

/** `name:password` in the pull secret. */
const pullCredentials = (host: string): string => credentialsIn(labPullSecret, host) ?? '';

/** Who pushes the images, as `name:password`. */
export const pushCredentials = ({ registry, hasOwnPushUser }: LayeredPlan): string =>
  hasOwnPushUser ? 'pusher:not-a-password-either' : pullCredentials(registry);

/** Repository of the image of a pool. */
export const repositoryOf = ({ registry }: LayeredPlan, pool: string): string =>
  `${registry}/ocl/${pool}`;

/** The registries around a cluster: that of the release, that of the images, and a mirror. */
export function registriesOf(plan: LayeredPlan): readonly RegistryPlan[] {
  const { registry, mirror, diesForSeconds } = plan;
  const hosts = new Set([upstream, registry, ...(mirror === undefined ? [] : [mirror])]);
  return [...hosts].map((host) => ({
    host,
    users: [
      ...(host === registry ? [{ credentials: pushCredentials(plan), may: 'push' as const }] : []),
      { credentials: pullCredentials(host), may: 'pull' as const },
    ],
    isUnreachable: mirror !== undefined && host !== mirror,
    ...(host === registry ? { diesForSeconds } : {}),
  }));
}

/** The same name at the mirror. */
const atMirror = (image: string, mirror: string): string => image.replace(upstream, mirror);

/** Every place at which the images of the release lie. */
export const placesOfRelease = ({ mirror }: LayeredPlan): readonly string[] =>
  mirror === undefined ? imagesOfRelease : imagesOfRelease.map((image) => atMirror(image, mirror));

/** Settings of registries for every host and node; undefined where none are needed. */
export function registrySettings({ mirror }: LayeredPlan): string | undefined {
  if (mirror === undefined) return undefined;
  return [
    '[[registry]]',
    `  location = "${upstream}/release"`,
    '  mirror-by-digest-only = true',
    '  [[registry.mirror]]',
    `    location = "${mirror}/release"`,
    '',
  ].join('\n');
}

/** The operating system that a node runs, and what it was told to be at its first boot. */
export interface NodeSystem {
  /** The booted image, by digest. */
  readonly image: string;
  readonly kernelArguments: readonly string[];
  /** Name of the rendered MachineConfig. */
  readonly rendered: string;
  readonly currentImage: string | undefined;
  readonly desiredImage: string | undefined;
  readonly pullSecret: string;
}

/** What a cluster has around it whose operating systems are built. */
export interface LayeredSite {
  readonly plan: LayeredPlan;
  readonly network: RegistryNetwork;
  /** Hosts by name. */
  readonly machines: ReadonlyMap<string, Machine>;
  /** What hosts run that were started from their disks, by name. */
  readonly systems: Map<string, NodeSystem>;
  /** A host is started from its disk once more. */
  readonly restarted: (host: string) => void;
  /** Switches a host on or off; nothing runs on one that is off. */
  readonly power: (host: string, isOn: boolean) => void;
  /** What the controllers did that they must not have to do. */
  readonly incidents: string[];
}

/**
 * The machine of a host.
 * @throws RangeError when there is none of this name
 */
export function machineOf({ machines }: Pick<LayeredSite, 'machines'>, host: string): Machine {
  const found = machines.get(host);
  if (found === undefined) throw new RangeError(`there is no machine ${host}`);
  return found;
}
