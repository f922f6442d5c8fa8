import { join } from 'node:path';
import { aptPackages } from './apt-packages.ts';
import { coreosInstaller } from './coreos-installer.ts';
import { osFile } from './os-files.ts';
import { osRootfs } from './os-rootfs.ts';
import { ostreeContainer } from './ostree-container.ts';
import type { CachedPart } from './part.ts';

const sources = [
  ...['network-live.sh', 'network', 'live-tree.sh', 'emulated.sh', 'emulated', 'unpack.sh', 'live'],
  ...['mirror.sh', 'initramfs/99labcoreos/setfiles'],
];

/** What a host starts from the network: `vmlinuz`, `initramfs.img` with Ignition, and `rootfs.img` with podman. */
export const networkLive: CachedPart = {
  kind: 'cached',
  name: 'network-live',
  purpose: 'a live system to start from the network, with Ignition and podman',
  pin: 'Debian trixie',
  cost: '45 seconds, 150 MB',
  tools: [aptPackages],
  inputs: [osRootfs, coreosInstaller, ostreeContainer],
  files: [import.meta.filename, ...sources.map(osFile)],
  build: async (site) => {
    const archive = join(site.input(osRootfs), 'live.tar.zst');
    const installer = join(site.input(coreosInstaller), 'bin', 'coreos-installer');
    const container = join(site.input(ostreeContainer), 'bin', 'ostree-container');
    const argv = [osFile('network-live.sh'), archive, installer, container, site.folder] as const;
    await site.log.run({ argv });
  },
};
