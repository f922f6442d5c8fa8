/** Packages whose versions in some supported live images lack options. */
export type Package = 'coreos-installer' | 'rpm-ostree';

/** Live images with the same versions of these packages. */
export interface Generation {
  readonly name: string;
  /**
   * Minor numbers of the OpenShift 4 lines with it; for other systems, the lines of the same age.
   */
  readonly lines: readonly [first: number, last: number];
  /**
   * The oldest version of a package in it. An omitted version is unknown, and counts as the version
   * of the previous row.
   */
  readonly versions: Partial<Readonly<Record<Package, string>>>;
}

/**
 * Supported live images, oldest first. A version with a release is the version of a build in its
 * source: Red Hat's advisories for OpenShift by line (`rhaos4.N`), package lists of RHEL, CentOS
 * Stream and AlmaLinux, and `manifest-lock.x86_64.json` of coreos/fedora-coreos-config.
 */
export const generations: readonly Generation[] = [
  {
    name: 'RHEL CoreOS 4.14 and 4.15 (RHEL 9.2)',
    lines: [14, 15],
    versions: {
      // Versions of 4.12; for newer ones before 4.16 no list is public.
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
    // From October 2024.
    name: 'Fedora CoreOS 40',
    lines: [17, 22],
    versions: {
      'coreos-installer': '0.22.1-3.fc40',
      'rpm-ostree': '2024.8-1.fc40',
    },
  },
];

/** The versions of a generation; unknown versions are taken from earlier rows. */
export const versionsOf = (generation: Generation): Generation['versions'] =>
  Object.assign(
    {},
    ...generations.slice(0, generations.indexOf(generation) + 1).map(({ versions }) => versions),
  ) as Generation['versions'];

/** Whether a version is at least another one; the text after a `-` is the release of a package. */
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
