import { isAtLeast, type ReleaseVersion, releaseVersion } from '../../cluster/release-version.ts';

/**
 * How nodes of a release come to an image that is built during the installation. `first-boot`: they are served
 * the image and boot into it at once. `after-join`: they boot the system of the release, and the Machine Config
 * Operator rolls the image out once it is handed over. `none`: the release has nothing to hand an image over to.
 */
export interface Delivery {
  readonly kind: 'first-boot' | 'after-join' | 'none';
  /** Why, in one sentence without its period. */
  readonly why: string;
}

interface Row extends Delivery {
  readonly from: ReleaseVersion;
}

/**
 * The newest first. From 4.21 on nodes trust the image that their Ignition names, and the operator takes over an
 * image that it did not build; MachineOSConfig v1 came with 4.18.21 (machine-config-operator, its release branches).
 */
const rows: readonly Row[] = [
  {
    from: [4, 21, 0],
    kind: 'first-boot',
    why: 'its nodes take the image that their Ignition names for their own, so the built one is served and they boot into it',
  },
  {
    from: [4, 18, 21],
    kind: 'after-join',
    why: 'its nodes go back to the system of the release at their first start, so the Machine Config Operator rolls the image out when they have joined, with one more reboot for each',
  },
  {
    from: [0, 0, 0],
    kind: 'none',
    why: 'MachineOSConfig v1 came with 4.18.21',
  },
];

/** How nodes of a release come to a built image. */
export function deliveryOf(openshiftVersion: string): Delivery {
  const version = releaseVersion(openshiftVersion);
  const row = version === undefined ? undefined : rows.find(({ from }) => isAtLeast(version, from));
  if (row === undefined) {
    const named = openshiftVersion === '' ? 'an empty text' : openshiftVersion;
    return { kind: 'none', why: `${named} is not the version of an OpenShift release` };
  }
  return { kind: row.kind, why: `OpenShift ${openshiftVersion}: ${row.why}` };
}
