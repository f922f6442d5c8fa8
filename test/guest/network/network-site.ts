import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  createReadStream,
  mkdirSync,
  openAsBlob,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { type MockServer, startMockServer } from '../../../mocks/http/mock-server.ts';
import { networkLive } from '../../../scripts/parts/scripted.ts';
import { osDisk } from '../../../scripts/parts/os-disk.ts';
import { partFolder } from '../../../scripts/parts/part.ts';
import { buildAgentImage, openContainerStore } from '../../support/container-store.ts';
import { pointerConfig } from '../install/ignition.ts';
import { rangeOf } from '../install/image-server.ts';
import { renderedFor, seenByGuests } from '../install/outside.ts';
import { createFolderDisk } from '../rig/disks.ts';
import { emulated } from '../rig/live-guest.ts';

const run = promisify(execFile);

/** Addresses and names of the examples in the files of `deploy`, and the disk of the machines. */
export const example = {
  subnet: '192.0.2',
  webServer: '192.0.2.10',
  image: 'registry.example/bootwright:latest',
  wwn: '0x5000c500a0b1c2d3',
} as const;

const deploy = resolve(import.meta.dirname, '../../../deploy');

/** Kernel arguments that a site adds for its machines. */
export const machineArguments = `console=ttyS0,115200n8 net.ifnames=0 systemd.journald.forward_to_console=1 ${emulated}`;

/** The servers that machines start from, and nothing else. */
export interface NetworkSite extends AsyncDisposable {
  /** For the disks and logs of machines. */
  readonly folder: string;
  /** The disk that has the image of the agent. */
  readonly imageDisk: string;
  readonly tftpFolder: string;
  readonly web: MockServer;
  /** The digest of the image, which the files of `deploy` have as zeros. */
  readonly imageSha256: string;
  /** The server that the Ignition of a worker points to. */
  readonly machineConfigServer: MockServer;
}

/** The sha256 of a file, in hex. */
async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** An Ignition of `deploy` whose configuration names the disk and the digest of the image. */
function withDiskAndDigest(ignition: string, digest: string): string {
  return ignition.replaceAll(/(?<=;base64,)[^"]+/g, (content) => {
    const text = gunzipSync(Buffer.from(content, 'base64')).toString();
    const config = text
      .replace('YOUR-DISK', `wwn-${example.wwn}`)
      .replace(/^( +sha256:) '0{64}'$/m, `$1 '${digest}'`);
    return gzipSync(config).toString('base64');
  });
}

/**
 * Starts the servers, with the files of `deploy` under their names: unchanged but for the disk and
 * the digest of the image.
 */
export async function openNetworkSite(folder: string): Promise<NetworkSite> {
  const at = (name: string): string => join(folder, name);
  const imageDisk = at('network-images.raw');
  await createImageDisk(imageDisk, example.image);
  const parts = partFolder(networkLive);
  await fillTftpFolder(at('tftp'), parts);
  const machineConfigServer = await startMockServer({ answer: () => renderedFor(undefined) });
  const source = `${seenByGuests(machineConfigServer.url)}/config/worker`;
  writeFileSync(at('worker.ign'), JSON.stringify(pointerConfig({ hostname: 'network-0', source })));
  const boot = Object.entries(kernelFiles).map(
    ([name, part]) => [name, join(parts, part)] as const,
  );
  const image = join(partFolder(osDisk), 'labcoreos.raw.zst');
  const imageSha256 = await sha256Of(image);
  for (const name of ['install-worker.ign', 'install-master.ign'])
    writeFileSync(
      at(name),
      withDiskAndDigest(readFileSync(join(deploy, 'host', name), 'utf8'), imageSha256),
    );
  const web = await serveFiles({
    ...Object.fromEntries(boot),
    'rhcos-live-rootfs.x86_64.img': join(parts, 'rootfs.img'),
    'rhcos-metal.x86_64.raw.gz': image,
    'install-worker.ign': at('install-worker.ign'),
    'install-master.ign': at('install-master.ign'),
    'worker.ign': at('worker.ign'),
  });
  return {
    folder,
    imageDisk,
    tftpFolder: at('tftp'),
    web,
    imageSha256,
    machineConfigServer,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([web.close(), machineConfigServer.close()]);
    },
  };
}

const kernelFiles = {
  'rhcos-live-kernel.x86_64': 'vmlinuz',
  'rhcos-live-initramfs.x86_64.img': 'initramfs.img',
} as const;

/**
 * The unchanged files, a script that chains one of them with kernel arguments, as a site does,
 * and GRUB to read the other.
 */
async function fillTftpFolder(folder: string, parts: string): Promise<void> {
  const at = (name: string): string => join(folder, name);
  mkdirSync(folder);
  for (const name of ['boot.ipxe', 'grub.cfg']) copyFileSync(join(deploy, 'pxe', name), at(name));
  writeFileSync(at('start.ipxe'), `#!ipxe\nset arguments ${machineArguments}\nchain boot.ipxe\n`);
  writeFileSync(at('early.cfg'), `configfile (tftp,${example.subnet}.2)/grub.cfg\n`);
  for (const [name, part] of Object.entries(kernelFiles)) copyFileSync(join(parts, part), at(name));
  const modules = ['normal', 'configfile', 'linux', 'efinet', 'tftp'];
  const program = ['-O', 'x86_64-efi', '-o', at('grubx64.efi'), '-c', at('early.cfg'), '-p', ''];
  await run('grub-mkimage', [...program, ...modules]);
}

/**
 * A web server with files, like that of a rack; it supports ranges, and other paths are not found.
 */
async function serveFiles(files: Readonly<Record<string, string>>): Promise<MockServer> {
  const blobs = new Map<string, Blob>(
    await Promise.all(
      Object.entries(files).map(
        async ([name, path]) => [`/${name}`, await openAsBlob(path)] as const,
      ),
    ),
  );
  return startMockServer({
    answer: ({ url, headers }) => {
      const blob = blobs.get(new URL(url).pathname);
      if (blob === undefined) return new Response(null, { status: 404 });
      const range = headers.get('range') ?? undefined;
      const [from, to] = rangeOf(range, blob.size);
      return new Response(blob.slice(from, to), {
        status: range === undefined ? 200 : 206,
        headers: {
          'content-length': String(to - from),
          'accept-ranges': 'bytes',
          ...(range === undefined
            ? {}
            : { 'content-range': `bytes ${from}-${to - 1}/${blob.size}` }),
        },
      });
    },
  });
}

const built = 'localhost/bootwright-test:guest';

/**
 * Makes a disk with the shipped image under a name, as podman of a guest finds it in an additional
 * store.
 */
async function createImageDisk(path: string, name: string): Promise<void> {
  const store = openContainerStore();
  await buildAgentImage(store, built);
  const folder = `${path}.store`;
  const images = join(folder, 'images');
  const target = `containers-storage:[overlay@${images}+${join(folder, 'run')}]${name}`;
  await store.run('buildah', 'push', '--quiet', built, target);
  try {
    await createFolderDisk(path, images);
  } finally {
    // Where the driver keeps its layers is a mount of its own.
    await run('umount', [join(images, 'overlay')]);
    rmSync(folder, { recursive: true });
  }
}
