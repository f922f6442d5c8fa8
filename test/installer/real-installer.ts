import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { coreosInstaller } from '../../scripts/parts/coreos-installer.ts';
import { partFolder } from '../../scripts/parts/part.ts';

/** The result and the output of a run of the real coreos-installer. */
interface InstallerRun {
  readonly code: number | null;
  readonly stderr: string;
}

/**
 * These runs have mounts of their own. The tool needs a socket of udevd and a udevadm that
 * succeeds; a machine without udevd gets stand-ins for both. Its lsblk and blkid know one disk, so
 * that it reads no other disk of this machine. `$1` runs before the tool, in the same namespace;
 * `$2` is the disk.
 */
const setting = `set -e
mkdir -p /run/udev
mount -t tmpfs tmpfs /run/udev
mkdir /run/udev/bin
: > /run/udev/control
printf '#!/bin/sh\\n' > /run/udev/bin/udevadm
printf '#!/bin/sh\\nexec %s "$@" %s\\n' "$(command -v lsblk)" "$2" > /run/udev/bin/lsblk
printf '#!/bin/sh\\n[ "$3" != -o ] || exec echo %s\\nexec %s "$@"\\n' "$2" "$(command -v blkid)" > /run/udev/bin/blkid
chmod +x /run/udev/bin/*
eval "$1"
export PATH=/run/udev/bin:$PATH
shift 2
exec "$@"`;

/** A run: the options, the disk, and a shell script that changes the disk first. */
interface InstallerTask {
  readonly options: readonly string[];
  readonly device: string;
  readonly before?: string;
}

/** Runs `coreos-installer install`. */
export async function runInstaller(task: InstallerTask): Promise<InstallerRun> {
  const { options, device, before = '' } = task;
  const program = join(partFolder(coreosInstaller), 'bin', 'coreos-installer');
  const tool = [program, 'install', ...options, device];
  const inside = ['sh', '-c', setting, 'sh', before, device, ...tool];
  const child = spawn('unshare', ['--mount', '--propagation', 'private', '--', ...inside], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { PATH: process.env['PATH'], LC_ALL: 'C', RUST_BACKTRACE: '0' },
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr };
}

/** The behaviour of the server of the image. */
interface Serving {
  readonly image: Buffer;
  /** Sends the image over this many seconds; at once without it. */
  readonly overSeconds?: number;
  /** Cuts the connection after this share of the image, 0 to 1. */
  readonly cutAfter?: number;
}

/** A web server on loopback with one image and no signature for it. */
interface ImageServer extends AsyncDisposable {
  readonly imageUrl: string;
}

const chunks = 20;

/** Serves `/tiny.raw`; any other path, such as its signature, is not found. */
export async function serveImage(serving: Serving): Promise<ImageServer> {
  const server = createServer((request, response) => {
    if (request.url === '/tiny.raw') void send(response, serving);
    else response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    imageUrl: `http://127.0.0.1:${port}/tiny.raw`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function send(response: ServerResponse, serving: Serving): Promise<void> {
  const { image, overSeconds = 0, cutAfter = 1 } = serving;
  response.writeHead(200, { 'content-length': image.length });
  const step = Math.ceil(image.length / chunks);
  const end = image.length * cutAfter;
  for (let at = 0; at < end; at += step) {
    if (!response.write(image.subarray(at, Math.min(at + step, end))))
      await once(response, 'drain');
    // The server is slow on purpose: the tool prints a line at most once a second.
    await sleep((overSeconds * 1000) / chunks);
  }
  if (cutAfter < 1) response.destroy();
  else response.end();
}

const folder = join(import.meta.dirname, '..', '..', 'mocks', 'logs', 'coreos-installer');
const progress = /^Read (\S+) [\d.]+ [KMGT]?i?B\/[\d.]+ [KMGT]?i?B \(\d{1,3}%\)$/;

/** Names that differ from run to run, and their replacements in a recording. */
type Stands = Readonly<Record<string, string>>;

/**
 * The recorded output of this name, and the fresh one in the same terms, both without progress
 * lines, whose number and figures always differ. With BOOTWRIGHT_RECORD=1 the fresh output replaces
 * the recording first.
 */
export function compareWithRecording(name: string, said: string, stands: Stands) {
  const path = join(folder, `${name}.txt`);
  const fresh = replaceAll(said, stands);
  if (process.env['BOOTWRIGHT_RECORD'] !== undefined) writeFileSync(path, fresh);
  return { recorded: withoutProgress(readFileSync(path, 'utf8')), fresh: withoutProgress(fresh) };
}

/** The progress lines. */
export function progressLines(said: string): string[] {
  return said.split('\n').filter((line) => progress.test(line));
}

function withoutProgress(said: string): string[] {
  return said.split('\n').filter((line) => !progress.test(line));
}

function replaceAll(said: string, stands: Stands): string {
  return Object.entries(stands).reduce((text, [real, stand]) => text.replaceAll(real, stand), said);
}
