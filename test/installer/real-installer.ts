import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { coreosInstaller } from '../../scripts/parts/coreos-installer.ts';
import { partFolder } from '../../scripts/parts/part.ts';

/** How a run of the real coreos-installer ended and what it said. */
export interface InstallerRun {
  readonly code: number | null;
  readonly stderr: string;
}

/**
 * Mounts of these runs are their own. The tool wants a socket of udevd and a udevadm that succeeds; a machine
 * without udevd gets stand-ins for both. Its lsblk and
 * blkid know one disk, so that it looks at no other of this machine.
 * `$1` is run before the tool, in the same namespace; `$2` is the disk.
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

/** One run: the options, the disk, and shell for what the disk shall suffer first. */
export interface InstallerTask {
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
