import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { bundlePath } from '../../../scripts/bundle.ts';
import { coreosInstaller } from '../../../scripts/parts/coreos-installer.ts';
import { networkLive } from '../../../scripts/parts/scripted.ts';
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

/** Where the agent of the medium serves its status. */
export const statusPort = 9110;

/**
 * Makes the medium of a worker from a live ISO, with the configuration of `deploy`, and the disk,
 * the digest of the image, a keyfile and its status besides.
 */
export async function makeMedium({ folder, imageSha256 }: NetworkSite): Promise<MadeMedium> {
  const at = (name: string): string => join(folder, name);
  const parts = partFolder(networkLive);
  mkdirSync(at('medium-network'));
  const keyfile = '[connection]\nid=eth0\ntype=ethernet\ninterface-name=eth0\n';
  writeFileSync(at('medium-network/eth0.nmconnection'), keyfile);
  const settings = [
    `disk: { device: /dev/disk/by-id/wwn-${example.wwn} }`,
    `network: { keyfiles: ${at('medium-network')} }`,
    `log: { status: ':${statusPort}' }`,
    `image: { sha256: '${imageSha256}' }`,
  ];
  writeFileSync(at('medium.yaml'), settings.join('\n'));
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

/** The end of `bootwright watch`. */
export interface WatchEnd {
  readonly exitCode: number;
  readonly printed: string;
}

/** Waits for the host of the medium as an operator does, from before it is on. */
export async function watchToTheEnd(port: number, signal: AbortSignal): Promise<WatchEnd> {
  const url = `http://127.0.0.1:${port}/status`;
  const argv = [bundlePath, 'watch', url, '--until', 'installed', '--timeout', '90m'];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  signal.addEventListener('abort', () => void child.kill());
  const ended = once(child, 'close').then(([code]) => code as number);
  return { printed: await text(child.stdout), exitCode: await ended };
}
