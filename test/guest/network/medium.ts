import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { bundlePath } from '../../../scripts/bundle.ts';
import { coreosInstaller } from '../../../scripts/parts/coreos-installer.ts';
import { networkLive } from '../../../scripts/parts/network-live.ts';
import { partFolder } from '../../../scripts/parts/part.ts';
import { createLiveIso } from '../../support/live-media.ts';
import { example, machineArguments, type NetworkSite } from './network-site.ts';

const workerConfig = resolve(import.meta.dirname, '../../../deploy/host/config/worker.yaml');

/** As that of a minimal live ISO: the root file system is on a web server. */
const grubConfig = `set timeout=0
menuentry live {
  linux /images/pxeboot/vmlinuz coreos.live.rootfs_url=http://${example.webServer}/rhcos-live-rootfs.x86_64.img ignition.firstboot ignition.platform.id=metal ${machineArguments}
  initrd /images/pxeboot/initrd.img /images/ignition.img
}
`;

/** A medium that `bootwright media` has made, and what the command printed. */
export interface MadeMedium {
  readonly path: string;
  readonly printed: string;
}

/** Makes the medium of a worker from a live ISO, with the configuration of `deploy` unchanged and a keyfile besides. */
export async function makeMedium({ folder }: NetworkSite): Promise<MadeMedium> {
  const at = (name: string): string => join(folder, name);
  const parts = partFolder(networkLive);
  mkdirSync(at('medium-network'));
  const keyfile = '[connection]\nid=eth0\ntype=ethernet\ninterface-name=eth0\n';
  writeFileSync(at('medium-network/eth0.nmconnection'), keyfile);
  writeFileSync(at('medium.yaml'), `network: { keyfiles: ${at('medium-network')} }\n`);
  await createLiveIso(at('live.iso'), {
    texts: { 'boot/grub/grub.cfg': grubConfig },
    files: {
      'images/pxeboot/vmlinuz': join(parts, 'vmlinuz'),
      'images/pxeboot/initrd.img': join(parts, 'initramfs.img'),
    },
  });
  const installer = join(partFolder(coreosInstaller), 'bin');
  const path = at('worker.iso');
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      ...[bundlePath, 'media', '--config', workerConfig, '--config', at('medium.yaml')],
      ...['--iso', at('live.iso'), '--out', path, '--image', example.image],
    ],
    { env: { PATH: `${installer}:${process.env['PATH'] ?? ''}` } },
  );
  return { path, printed: stdout };
}
