/**
 * Packages whose programs an installation runs on its host, and whose options have changed with
 * their versions.
 */
export type Package =
  | 'cloud-utils-growpart'
  | 'coreos-installer'
  | 'coreutils'
  | 'efibootmgr'
  | 'lvm2'
  | 'mdadm'
  | 'podman'
  | 'rpm-ostree'
  | 'skopeo'
  | 'systemd'
  | 'util-linux';

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
      // assisted-installer gives it --free-percent there.
      'cloud-utils-growpart': '0.33',
      // Those of 4.12; of newer ones before 4.16 no list is public.
      'coreos-installer': '0.15.0-2.rhaos4.11.el8',
      coreutils: '8.30-6.el8',
      efibootmgr: '16-1.el8',
      lvm2: '2.03.17-7.el9',
      mdadm: '4.2-rc2.el8',
      podman: '4.4.1-3.rhaos4.13.el9',
      'rpm-ostree': '2023.3-1.el9_2',
      skopeo: '1.11.2-2.1.rhaos4.13.el9',
      systemd: '252-13.el9',
      'util-linux': '2.37.4-10.el9',
    },
  },
  {
    name: 'RHEL CoreOS 4.16 to 4.18 (RHEL 9.4)',
    lines: [16, 18],
    versions: {
      'coreos-installer': '0.17.0-1.rhaos4.14.el8',
      podman: '4.9.4-20.el9_4.3',
      'rpm-ostree': '2024.3-4.el9_4',
      skopeo: '1.14.3-0.1.el9',
      'util-linux': '2.37.4-18.el9',
    },
  },
  {
    name: 'RHEL CoreOS 4.19 to 4.21 (RHEL 9.6), CentOS Stream CoreOS 9',
    lines: [19, 21],
    versions: {
      mdadm: '4.3-3.el9',
      podman: '5.2.2-8.rhaos4.18.el9',
      skopeo: '1.16.1-1.rhaos4.18.el9',
      systemd: '252-51.el9_6.1',
      'util-linux': '2.37.4-21.el9_7',
    },
  },
  {
    name: 'RHEL CoreOS 5.0 (RHEL 10), CentOS Stream CoreOS 10',
    lines: [22, 22],
    versions: {
      'cloud-utils-growpart': '0.33-11.el10',
      'coreos-installer': '0.23.0-1.el10',
      efibootmgr: '18-8.el10',
      lvm2: '2.03.28-6.el10',
      mdadm: '4.3-5.el10',
      podman: '5.4.0-13.el10_0',
      systemd: '257-9.el10',
      'util-linux': '2.40.2-10.el10',
    },
  },
  {
    // Of October 2024.
    name: 'Fedora CoreOS 40',
    lines: [17, 22],
    versions: {
      'cloud-utils-growpart': '0.33-7.fc40',
      'coreos-installer': '0.22.1-3.fc40',
      coreutils: '9.4-8.fc40',
      efibootmgr: '18-6.fc40',
      lvm2: '2.03.23-1.fc40',
      mdadm: '4.2-8.fc40',
      podman: '5.2.3-1.fc40',
      'rpm-ostree': '2024.8-1.fc40',
      skopeo: '1.16.1-1.fc40',
      systemd: '255.12-1.fc40',
      'util-linux': '2.40.1-1.fc40',
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
