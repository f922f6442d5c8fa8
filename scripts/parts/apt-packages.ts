import { spawnSync } from 'node:child_process';
import { type BuildLog, type MachinePart, PartError } from './part.ts';

/** Debian packages by what asks for them. The newest version of the machine's own suite is taken. */
const packages: Readonly<Record<string, readonly string[]>> = {
  guests: ['ovmf', 'e2fsprogs'],
  'system trees': ['mmdebstrap', 'debian-archive-keyring', 'gpgv', 'zstd'],
  disks: ['dosfstools', 'mtools', 'gdisk', 'xfsprogs'],
  'boot loaders': ['grub-common', 'grub-pc-bin', 'grub-efi-amd64-bin'],
  'storage tests': ['fdisk', 'squashfs-tools'],
  media: ['xorriso'],
  keys: ['openssh-client'],
  ignition: ['ignition'],
  'certificates and the journal': ['openssl', 'systemd'],
  containers: ['buildah', 'podman', 'skopeo'],
  'images of other architectures': ['binutils', 'qemu-user-static'],
  guides: ['jq'],
  'the manual': ['groff-base', 'mandoc', 'bsdutils'],
  networks: ['iproute2', 'curl'],
  'programs that are built here': ['libssl3'],
};

async function install(name: string, wanted: readonly string[], log: BuildLog): Promise<void> {
  if (spawnSync('dpkg-query', ['--version']).error !== undefined)
    throw new PartError(`${name}: real parts need Debian 12 or newer: no dpkg-query here`);
  const missing = missingPackages(wanted);
  const command = `apt-get install --no-install-recommends ${missing.join(' ')}`;
  if (process.getuid?.() !== 0) throw new PartError(`${name}: root is needed to run: ${command}`);
  const environment = { DEBIAN_FRONTEND: 'noninteractive' };
  await log.run({ argv: ['apt-get', 'update'], environment });
  const argv = ['apt-get', 'install', '--yes', '--no-install-recommends', ...missing] as const;
  await log.run({ argv: [...argv], environment });
}

function aptPart(
  { name, purpose, cost }: Pick<MachinePart, 'name' | 'purpose' | 'cost'>,
  wanted: readonly string[],
): MachinePart {
  return {
    ...{ kind: 'machine', name, purpose, cost, tools: [] },
    pin: "the machine's own Debian suite",
    isReady: () => missingPackages(wanted).length === 0,
    make: (log) => install(name, wanted, log),
    where: () => '/usr/bin',
  };
}

/** The Debian packages that tests and other parts call. Only what is missing gets installed. */
export const aptPackages: MachinePart = aptPart(
  {
    name: 'apt-packages',
    purpose: 'the Debian packages that the tests call',
    cost: '30 seconds, 700 MB',
  },
  Object.values(packages).flat(),
);

/** The browser that reads pages, with a font. */
export const browser: MachinePart = aptPart(
  {
    name: 'browser',
    purpose: 'Chromium, which reads the page of an installation',
    cost: '20 seconds, 400 MB',
  },
  ['chromium', 'fonts-dejavu-core'],
);

/** The given Debian packages that are not installed on this machine, in the given order. */
function missingPackages(names: readonly string[]): string[] {
  const format = '${Package} ${db:Status-Status}\n';
  const query = spawnSync('dpkg-query', ['-W', '-f', format, ...names], { encoding: 'utf8' });
  const installed = query.error === undefined ? installedIn(query.stdout) : new Set<string>();
  return names.filter((name) => !installed.has(name));
}

/** The packages that a listing of `name status` lines calls installed. */
export function installedIn(listing: string): Set<string> {
  const lines = listing.split('\n').filter((line) => line.endsWith(' installed'));
  return new Set(lines.map((line) => line.split(' ')[0] ?? ''));
}
