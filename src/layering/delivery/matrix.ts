import { isAtLeast, type ReleaseVersion, releaseVersion } from '../../cluster/release-version.ts';

/**
 * How nodes of a release come to an image that is built during the installation. `first-boot`: they are served
 * the image and boot into it at once. `pinned`: the same, and a MachineConfig of the cluster names the image.
 * `after-join`: they boot the system of the release, and the Machine Config Operator rolls the image out once it is
 * handed over. `switched`: the same, and what follows the bootstrap host into the cluster switches them before it
 * hands the image over. `none`: the release has nothing to hand an image over to.
 */
export interface Delivery {
  readonly kind: 'first-boot' | 'pinned' | 'after-join' | 'switched' | 'none';
  /** Why, in one sentence without its period. */
  readonly why: string;
}

/** What is wanted of a release whose nodes do not keep an image that their Ignition alone names. */
export type OlderReleases = 'roll-out' | 'switch' | 'pin';

interface Row extends Delivery {
  readonly from: ReleaseVersion;
  /** The other ways, for those who ask for them. */
  readonly others?: Readonly<Partial<Record<OlderReleases, Delivery>>>;
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
    others: {
      switch: {
        kind: 'switched',
        why: 'its nodes go back to the system of the release at their first start, so a job of ours in the cluster switches them when they have joined, one after the other, with one more reboot for each',
      },
      pin: {
        kind: 'pinned',
        why: 'its nodes run what their MachineConfig names, so one that names the built image is added, all is rendered again, and they boot into it; it stays until a person deletes it',
      },
    },
  },
  {
    from: [0, 0, 0],
    kind: 'none',
    why: 'MachineOSConfig v1 came with 4.18.21',
  },
];

/** How nodes of a release come to a built image. */
export function deliveryOf(openshiftVersion: string, olderReleases: OlderReleases): Delivery {
  const version = releaseVersion(openshiftVersion);
  const row = version === undefined ? undefined : rows.find(({ from }) => isAtLeast(version, from));
  if (row === undefined) {
    const named = openshiftVersion === '' ? 'an empty text' : openshiftVersion;
    return { kind: 'none', why: `${named} is not the version of an OpenShift release` };
  }
  const { kind, why } = row.others?.[olderReleases] ?? row;
  return { kind, why: `OpenShift ${openshiftVersion}: ${why}` };
}
