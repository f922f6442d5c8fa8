import { bootFailure } from './boot-failures.ts';

/** Directories of the EFI system partition that carry a shim, by preference. */
const vendors = ['redhat', 'centos', 'fedora'];

/** Where the EFI system partition is looked into; the place that the Go agent uses. */
export const espMountPoint = '/mnt';

/** Mounts the EFI system partition. */
export const mountEspArgv = (partition: string): readonly string[] => [
  ...['mount', partition, espMountPoint],
];

/** Names the vendors on the mounted EFI system partition. */
export const listVendorsArgv = ['ls', '-1', `${espMountPoint}/EFI`] as const;

/** Takes the EFI system partition out again. */
export const unmountEspArgv = ['umount', espMountPoint] as const;

/**
 * The path of the shim as the firmware wants it. The architecture is that of the host (`uname -m`):
 * this program may run in emulation.
 * @throws AgentError `boot.no-loader` when no known vendor is there
 */
export function shimPath(directories: readonly string[], architecture: string): string {
  const vendor = vendors.find((name) => directories.includes(name));
  if (vendor === undefined) {
    throw bootFailure(
      'boot.no-loader',
      `the EFI system partition has no boot loader of ${vendors.join(', ')}`,
      { context: { directories: directories.join(' ') } },
    );
  }
  const file = architecture === 'aarch64' ? 'shimaa64.efi' : 'shimx64.efi';
  return `\\EFI\\${vendor}\\${file}`;
}
