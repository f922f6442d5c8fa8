import { z } from 'zod';
import { inRelease } from '../host/commands/containers.ts';
import type { Machine } from '../host/machine.ts';
import {
  credentialsIn,
  labPullSecret,
  type RegistryNetwork,
  type RegistryPlan,
} from '../registries/network.ts';

/** Pools with built operating systems. */
export type BuiltPool = 'master' | 'worker';

/** Settings of a scenario for operating systems that are built during an installation. */
export const Layering = z.strictObject({
  /** Registry of the final images: HOST[:PORT]. */
  registry: z.string().default('registry.example.test'),
  /** The user of the pull secret may only pull there; the push Secret names another user. */
  hasOwnPushUser: z.boolean().default(false),
  /**
   * The release and the images come from this registry, the only reachable one; its HOST[:PORT].
   */
  mirror: z.string().optional(),
  /** The registry dies at the first push, for this long. */
  diesForSeconds: z.number().positive().optional(),
  /** The error of every build; builds succeed without it. */
  buildError: z.string().optional(),
  /** In the end nodes run the system of the release, and the cluster builds by itself. */
  fallsBack: z.boolean().default(false),
});
type Layering = z.infer<typeof Layering>;

/** Plan of a cluster whose operating systems are built during its installation. */
export interface LayeredPlan extends Partial<Layering> {
  readonly registry: string;
  readonly hasOwnPushUser: boolean;
  readonly openshiftVersion: string;
}

/**
 * Whether a release serves the image of a pool to nodes, and its nodes accept the served image:
 * from 4.21 on (machine-config-operator, `pkg/server` and `pkg/daemon`).
 */
export function servesImages({ openshiftVersion }: Pick<LayeredPlan, 'openshiftVersion'>): boolean {
  const [major = 0, minor = 0] = openshiftVersion.split('.').map(Number);
  return major > 4 || minor >= 21;
}

/** The pools, in the order of their builds. */
export const builtPools: readonly BuiltPool[] = ['master', 'worker'];

/** Registry of the release. */
const upstream = 'quay.example.test';

/** The operating system of the release. */
export const releaseOs = `${upstream}/release/os@sha256:${'a'.repeat(64)}`;

/** The release itself. */
export const releaseImage = `${upstream}/release/release@sha256:${'e'.repeat(64)}`;

/** Images of the release that an installation pulls. */
const imagesOfRelease = [releaseOs, releaseImage, inRelease('docker-registry')];

/** `name:password` in the pull secret. */
const pullCredentials = (host: string): string => credentialsIn(labPullSecret, host) ?? '';

/** The user that pushes images, as `name:password`. */
export const pushCredentials = ({ registry, hasOwnPushUser }: LayeredPlan): string =>
  hasOwnPushUser ? 'pusher:not-a-password-either' : pullCredentials(registry);

/** Repository of the image of a pool. */
export const repositoryOf = ({ registry }: LayeredPlan, pool: string): string =>
  `${registry}/ocl/${pool}`;

/** The registries around a cluster: of the release, of the images, and a mirror. */
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

/** The name of an image at the mirror. */
const atMirror = (image: string, mirror: string): string => image.replace(upstream, mirror);

/** All repositories with images of the release. */
export const placesOfRelease = ({ mirror }: LayeredPlan): readonly string[] =>
  mirror === undefined ? imagesOfRelease : imagesOfRelease.map((image) => atMirror(image, mirror));

/** Registry settings for every host and node; undefined where none are needed. */
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

/** The operating system of a node, and its configuration from the first boot. */
export interface NodeSystem {
  /** The booted image, by digest. */
  readonly image: string;
  readonly kernelArguments: readonly string[];
  readonly rendered: string;
  readonly currentImage: string | undefined;
  readonly desiredImage: string | undefined;
  readonly pullSecret: string;
}

/** Registries and machines around a layered cluster. */
export interface LayeredSite {
  readonly plan: LayeredPlan;
  readonly network: RegistryNetwork;
  /** Hosts by name. */
  readonly machines: ReadonlyMap<string, Machine>;
  /** Systems of the hosts that booted from their disks, by name. */
  readonly systems: Map<string, NodeSystem>;
  /** A host has booted from its disk again. */
  readonly restarted: (host: string) => void;
  /** Switches a host on or off; a switched-off host runs nothing. */
  readonly power: (host: string, isOn: boolean) => void;
  /** Actions of the controllers that must never be necessary. */
  readonly incidents: string[];
}

/**
 * The machine of a host.
 * @throws RangeError for an unknown name
 */
export function machineOf({ machines }: Pick<LayeredSite, 'machines'>, host: string): Machine {
  const found = machines.get(host);
  if (found === undefined) throw new RangeError(`there is no machine ${host}`);
  return found;
}
