// A virtual machine that installs itself with the files of `deploy` as they are, and no service.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type MockServer, startMockServer } from '../../../mocks/http/mock-server.ts';
import { networkLive } from '../../../scripts/parts/network-live.ts';
import { osDisk } from '../../../scripts/parts/os-disk.ts';
import { partFolder } from '../../../scripts/parts/part.ts';
import { bootInstalled, type DiskBoot } from '../install/first-boot.ts';
import { pointerConfig } from '../install/ignition.ts';
import { renderedFor, seenByGuests } from '../install/outside.ts';
import { deadlineSeconds, targetMiB } from '../install/prepare.ts';
import { createBlankDisk } from '../rig/disks.ts';
import { startGuest } from '../rig/guest.ts';
import { emulated } from '../rig/live-guest.ts';
import type { SerialLog } from '../rig/serial-log.ts';
import { createImageDisk } from './image-disk.ts';
import { serveFiles } from './web-files.ts';

/** Addresses and names that the files of `deploy` have as examples. */
const example = {
  subnet: '192.0.2',
  webServer: '192.0.2.10',
  image: 'registry.example/bootwright:latest',
  wwn: '0x5000c500a0b1c2d3',
} as const;

const deploy = resolve(import.meta.dirname, '../../../deploy');

/** How a machine was installed that started from the network. */
export interface NetworkInstall {
  /** Firmware, kernel, Ignition, and the journal of the live system. */
  readonly live: string;
  /** Paths that the web server was asked for, without repetitions. */
  readonly asked: readonly string[];
  /** The first start of the disk. */
  readonly boot: DiskBoot;
}

/** What is watched, and where files and logs go. */
interface NetworkPlace {
  readonly folder: string;
  /** Called once the machine is on; what it gives is called at the end of the live system. */
  readonly onLive?: (console: SerialLog) => () => void;
  /** Called before the machine starts from its disk. */
  readonly onBoot?: () => void;
  readonly signal?: AbortSignal;
}

/**
 * Starts a machine with an empty disk from the network: iPXE, the live system, its Ignition, podman, the agent. Its reboot
 * is from the disk.
 * @throws GuestError when it ends early, or too late
 */
export async function installFromNetwork({
  folder,
  onLive,
  onBoot,
  signal,
}: NetworkPlace): Promise<NetworkInstall> {
  const at = (name: string): string => join(folder, name);
  const target = at('network-target.raw');
  createBlankDisk(target, targetMiB);
  await createImageDisk(at('network-images.raw'), example.image);
  await using servers = await startServers(folder);
  const { web, machineConfigServer } = servers;
  const live = await (async () => {
    await using guest = startGuest(
      {
        firmware: 'bios',
        subnet: example.subnet,
        networkBoot: { folder: tftpFolder(at('tftp')), file: 'start.ipxe' },
        guestForwards: [
          {
            guestAddress: example.webServer,
            guestPort: 80,
            hostPort: Number(new URL(web.url).port),
          },
        ],
        disks: [
          { path: at('network-images.raw'), serial: 'images', writes: 'read-only' },
          { path: target, serial: 'target', writes: 'kept', wwn: example.wwn },
        ],
      },
      folder,
      'network-live',
    );
    signal?.addEventListener('abort', () => void guest.powerCut());
    const endWatching = onLive?.(guest.console);
    try {
      await guest.ended(deadlineSeconds);
    } finally {
      endWatching?.();
    }
    return guest.console.text();
  })();
  onBoot?.();
  const boot = await bootInstalled(
    { firmware: 'bios', target },
    { machineConfigServer },
    { folder, name: 'network-disk', deadlineSeconds, ...(signal === undefined ? {} : { signal }) },
  );
  const asked = [...new Set(web.requests.map(({ path }) => path))];
  return { live, asked, boot };
}

interface Servers extends AsyncDisposable {
  readonly web: MockServer;
  readonly machineConfigServer: MockServer;
}

/** The files under the names that `deploy` has for them; the Ignition of the node points to a machine-config-server. */
async function startServers(folder: string): Promise<Servers> {
  const machineConfigServer = await startMockServer({ answer: () => renderedFor(undefined) });
  const source = `${seenByGuests(machineConfigServer.url)}/config/worker`;
  const workerIgnition = join(folder, 'worker.ign');
  writeFileSync(workerIgnition, JSON.stringify(pointerConfig({ hostname: 'network-0', source })));
  const parts = partFolder(networkLive);
  const web = await serveFiles({
    'rhcos-live-kernel.x86_64': join(parts, 'vmlinuz'),
    'rhcos-live-initramfs.x86_64.img': join(parts, 'initramfs.img'),
    'rhcos-live-rootfs.x86_64.img': join(parts, 'rootfs.img'),
    'rhcos-metal.x86_64.raw.gz': join(partFolder(osDisk), 'labcoreos.raw.zst'),
    'install-worker.ign': join(deploy, 'host/install-worker.ign'),
    'worker.ign': workerIgnition,
  });
  return {
    web,
    machineConfigServer,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([web.close(), machineConfigServer.close()]);
    },
  };
}

/** The script as it is, and one that chains it with kernel arguments, as a site does for its own network. */
function tftpFolder(folder: string): string {
  mkdirSync(folder);
  copyFileSync(join(deploy, 'pxe/boot.ipxe'), join(folder, 'boot.ipxe'));
  const args = `console=ttyS0,115200n8 net.ifnames=0 systemd.journald.forward_to_console=1 ${emulated}`;
  writeFileSync(join(folder, 'start.ipxe'), `#!ipxe\nset arguments ${args}\nchain boot.ipxe\n`);
  return folder;
}
