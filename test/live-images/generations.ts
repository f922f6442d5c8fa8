/** Packages whose programs an installation runs on its host, and whose options have changed with their versions. */
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
  /** Minor numbers of the OpenShift 4 lines that come with it; of other systems those they are as old as. */
  readonly lines: readonly [first: number, last: number];
  /** The oldest version of a package in it. What is left out is not known, and counts as that of the row before. */
  readonly versions: Partial<Readonly<Record<Package, string>>>;
}

/**
 * Supported live images, oldest first. A version with a release behind it is that of a build which its source names:
 * package lists of boot images in pull requests of openshift/installer (3985, 3274), Red Hat's advisories for
 * OpenShift by line (`rhaos4.N`), package lists of RHEL, CentOS Stream and AlmaLinux, and `manifest-lock.x86_64.json`
 * of coreos/fedora-coreos-config.
 */
export const generations: readonly Generation[] = [
  {
    name: 'RHEL CoreOS 4.6 to 4.8 (RHEL 8.2 to 8.4)',
    lines: [6, 8],
    versions: {
      'cloud-utils-growpart': '0.31-1',
      // The newest release when the boot images of 4.6 were made (46.82.202007…): its tag is of 2020-07-31.
      'coreos-installer': '0.5.0',
      coreutils: '8.30-6.el8',
      efibootmgr: '16-1.el8',
      lvm2: '2.03.08-3.el8',
      mdadm: '4.1-14.el8',
      podman: '1.9.3-3.rhaos4.6.el8',
      // That of containers-common, which is built with it; of the line before.
      skopeo: '0.1.40-8.module+el8.1.1',
      systemd: '239-18.el8_1.5',
      'util-linux': '2.32.1-22.el8',
    },
  },
  {
    name: 'RHEL CoreOS 4.9 to 4.11 (RHEL 8.4 to 8.6)',
    lines: [9, 11],
    versions: {
      'coreos-installer': '0.10.0-2.rhaos4.9.el8',
      lvm2: '2.03.11-5.el8',
      mdadm: '4.1-16.el8_4',
      skopeo: '1.1.1-3.module+el8.3.0',
      systemd: '239-51.el8_5.2',
      'util-linux': '2.32.1-28.el8',
    },
  },
  {
    name: 'RHEL CoreOS 4.12 (RHEL 8.6)',
    lines: [12, 12],
    versions: {
      'coreos-installer': '0.15.0-2.rhaos4.11.el8',
      lvm2: '2.03.14-3.el8_6.2',
      mdadm: '4.2-rc2.el8',
      podman: '4.2.0-1.rhaos4.12.el8',
      'util-linux': '2.32.1-28.el8',
    },
  },
  {
    name: 'RHEL CoreOS 4.13 to 4.15 (RHEL 9.2)',
    lines: [13, 15],
    versions: {
      // assisted-installer gives it --free-percent there. RHEL 8 has 0.33 from 8.8 on, by the log of its package.
      'cloud-utils-growpart': '0.33',
      lvm2: '2.03.17-7.el9',
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
    // Of January 2021 and of October 2024: OKD began with the one.
    name: 'Fedora CoreOS 33',
    lines: [7, 7],
    versions: {
      'cloud-utils-growpart': '0.31-7.fc33',
      'coreos-installer': '0.7.2-1.fc33',
      coreutils: '8.32-12.fc33',
      efibootmgr: '16-9.fc33',
      lvm2: '2.03.10-1.fc33',
      mdadm: '4.1-6.fc33',
      podman: '2.2.1-1.fc33',
      'rpm-ostree': '2020.8-1.fc33',
      skopeo: '1.2.0-10.fc33',
      systemd: '246.7-2.fc33',
      'util-linux': '2.36-3.fc33',
    },
  },
  {
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

/** Whether a version is a certain one or newer; what stands behind a `-` is the release of a package. */
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
