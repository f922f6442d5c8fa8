/** Packages of which a supported live image lacks options that others have. */
export type Package = 'coreos-installer' | 'rpm-ostree';

/** Live images that have the same versions of what matters. */
export interface Generation {
  readonly name: string;
  /**
   * Minor numbers of the OpenShift 4 lines that come with it; of other systems those they are as
   * old as.
   */
  readonly lines: readonly [first: number, last: number];
  /**
   * The oldest version of a package in it. What is left out is not known, and counts as that of the
   * row before.
   */
  readonly versions: Partial<Readonly<Record<Package, string>>>;
}

/**
 * Supported live images, oldest first. A version with a release behind it is that of a build which
 * its source names: Red Hat's advisories for OpenShift by line (`rhaos4.N`), package lists of RHEL,
 * CentOS Stream and AlmaLinux, and `manifest-lock.x86_64.json` of coreos/fedora-coreos-config.
 */
export const generations: readonly Generation[] = [
  {
    name: 'RHEL CoreOS 4.14 and 4.15 (RHEL 9.2)',
    lines: [14, 15],
    versions: {
      // Those of 4.12; of newer ones before 4.16 no list is public.
      'coreos-installer': '0.15.0-2.rhaos4.11.el8',
      'rpm-ostree': '2023.3-1.el9_2',
    },
  },
  {
    name: 'RHEL CoreOS 4.16 to 4.18 (RHEL 9.4)',
    lines: [16, 18],
    versions: {
      'coreos-installer': '0.17.0-1.rhaos4.14.el8',
      'rpm-ostree': '2024.3-4.el9_4',
    },
  },
  {
    name: 'RHEL CoreOS 4.19 to 4.21 (RHEL 9.6), CentOS Stream CoreOS 9',
    lines: [19, 21],
    versions: {},
  },
  {
    name: 'RHEL CoreOS 5.0 (RHEL 10), CentOS Stream CoreOS 10',
    lines: [22, 22],
    versions: {
      'coreos-installer': '0.23.0-1.el10',
    },
  },
  {
    // Of October 2024.
    name: 'Fedora CoreOS 40',
    lines: [17, 22],
    versions: {
      'coreos-installer': '0.22.1-3.fc40',
      'rpm-ostree': '2024.8-1.fc40',
    },
  },
];

/** The versions of a generation, with those of earlier rows where its own are not known. */
export const versionsOf = (generation: Generation): Generation['versions'] =>
  Object.assign(
    {},
    ...generations.slice(0, generations.indexOf(generation) + 1).map(({ versions }) => versions),
  ) as Generation['versions'];

/**
 * Whether a version is a certain one or newer; what stands behind a `-` is the release of a
 * package.
 */
export function isAtLeast(version: string, wanted: string): boolean {
  const [have, want] = [version, wanted].map((text) =>
    (text.split('-')[0] ?? '').split('.').map(Number),
  );
  for (const [at, number] of (want ?? []).entries()) {
    const other = have?.[at] ?? 0;
    if (other !== number) return other > number;
  }
  return true;
}
