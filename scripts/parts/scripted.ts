import { join } from 'node:path';
import { aptPackages } from './apt-packages.ts';
import { coreosInstaller } from './coreos-installer.ts';
import { osFile } from './os-files.ts';
import { osRootfs } from './os-rootfs.ts';
import { ostreeContainer } from './ostree-container.ts';
import { type CachedPart, type PartCard, partFolder } from './part.ts';

/** A part that the script of its name in `scripts/os` makes; that is given the folder to fill, and what goes in. */
interface Scripted extends Omit<PartCard, 'tools'> {
  /** Inputs: paths in the folders of other parts. */
  readonly from?: readonly (readonly [part: CachedPart, path: string])[];
  /** Files and folders of `scripts/os` that the script reads. */
  readonly reads: readonly string[];
}

/** The script and what it reads make the hash: of this file the part has no more than is in its card. */
function scripted({ from = [], reads, ...card }: Scripted): CachedPart {
  const script = osFile(`${card.name}.sh`);
  return {
    ...card,
    kind: 'cached',
    tools: [aptPackages],
    inputs: from.map(([part]) => part),
    files: [script, ...reads.map(osFile)],
    build: ({ folder, log, input }) => {
      const paths = from.map(([part, path]) => join(input(part), path));
      return log.run({ argv: [script, folder, ...paths] });
    },
  };
}

/** A Debian root file system with a shell, `root.tar`. */
export const debianRoot = scripted({
  name: 'debian-root',
  purpose: 'a small Debian system, which stands in for the OS image that others are built upon',
  pin: 'Debian trixie',
  cost: '30 seconds, 70 MB',
  reads: ['mirror.sh'],
});

/** NetworkManager, in `tree` to change root into: `nmcli --offline` reads and checks keyfiles without a daemon. */
export const networkManager = scripted({
  name: 'network-manager',
  purpose: 'nmcli, to read keyfiles as NetworkManager does',
  pin: 'Debian trixie',
  cost: '30 seconds, 63 MB',
  reads: ['mirror.sh'],
});

/** The emulator of the guests: QEMU 10 does their work in 10 to 20 % less processor time than the 7.2 of Debian 12. */
export const qemu = scripted({
  name: 'qemu',
  purpose: 'QEMU 10, which emulates the guests',
  pin: 'Debian trixie',
  cost: '15 seconds, 103 MB',
  reads: ['mirror.sh'],
});

/** The path of `qemu-system-x86_64`; the part must be there. */
export const qemuProgram = (): string => join(partFolder(qemu), 'bin', 'qemu-system-x86_64');

/** A registry of container images, at `bin/docker-registry`. */
export const imageRegistry = scripted({
  name: 'image-registry',
  purpose: 'a registry of container images: distribution, as Debian has it',
  pin: "the machine's own Debian suite",
  cost: '2 seconds, 20 MB',
  reads: [],
});

const container = [ostreeContainer, 'bin/ostree-container'] as const;
const osArchive = [osRootfs, 'os.tar.zst'] as const;

/** The operating system as a commit in `repo`, with `vmlinuz` and `initramfs.img` beside it. */
export const osCommit = scripted({
  name: 'os-commit',
  purpose: 'Lab CoreOS 1.0.0 as an ostree commit, with an initramfs that runs Ignition 2.14',
  pin: '1.0.0',
  cost: '60 seconds, 450 MB',
  from: [osArchive, container],
  reads: [
    ...['os-tree.sh', 'tree', 'unpack.sh', 'initramfs.sh', 'initramfs', 'emulated.sh', 'emulated'],
    ...['ostree-shape.sh', 'in-root.sh'],
  ],
});

/** The operating system as a container image, which the disk is made from: an OCI layout `oci` with the tag `base`. */
export const osImage = scripted({
  name: 'os-image',
  purpose: 'Lab CoreOS 1.0.0 as a container image, which others are built upon',
  pin: '1.0.0',
  cost: '45 seconds, 190 MB',
  from: [osArchive, container, [osCommit, 'repo']],
  reads: ['unpack.sh', 'in-root.sh'],
});

const live = {
  from: [[osRootfs, 'live.tar.zst'], [coreosInstaller, 'bin/coreos-installer'], container],
  reads: ['live-tree.sh', 'emulated.sh', 'emulated', 'unpack.sh', 'live'],
} as const;

/** The system that an installation runs from: `live.raw` with `vmlinuz` and `initrd.img` to start it. */
export const liveRoot = scripted({
  name: 'live-root',
  purpose: 'a live system with coreos-installer, to install from in a guest',
  pin: 'Debian trixie',
  cost: '15 seconds, 450 MB',
  ...live,
});

/** The files with which a host starts from the network: `vmlinuz`, `initramfs.img` with Ignition, and `rootfs.img` with podman. */
export const networkLive = scripted({
  name: 'network-live',
  purpose: 'a live system to start from the network, with Ignition and podman',
  pin: 'Debian trixie',
  cost: '45 seconds, 150 MB',
  from: live.from,
  reads: [...live.reads, 'mirror.sh', 'network', 'initramfs/99labcoreos/setfiles'],
});
