import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { liveRoot } from '../../scripts/parts/guest.ts';
import { partFolder } from '../../scripts/parts/part.ts';
import {
  listOnHost,
  readOnHost,
  realPathOnHost,
  removeOnHost,
  type RunOnHost,
  writeOnHost,
} from '../../src/adapters/host/nsenter-host.ts';
import { runCommand, trimmed } from '../../src/adapters/host/run-command.ts';
import type { Host } from '../../src/ports/host.ts';

/** The live system as a folder with mounts of its own: its programs run on this machine's kernel. */
export interface LiveHost extends AsyncDisposable {
  readonly host: Host;
  /** Runs a command of the live system and gives what it prints. */
  readonly ask: (...argv: readonly string[]) => string;
}

/** `$1` is the image of the live system, `$2` the folder to work in; the last line says that all is mounted. */
const setting = `set -e
mkdir -p "$2/read" "$2/write" "$2/view"
mount -o loop,ro "$1" "$2/read"
mount -t tmpfs tmpfs "$2/write"
mkdir "$2/write/upper" "$2/write/work"
mount -t overlay overlay -o lowerdir="$2/read",upperdir="$2/write/upper",workdir="$2/write/work" "$2/view"
for folder in proc sys dev; do mount --rbind "/$folder" "$2/view/$folder"; done
for folder in run tmp; do mount -t tmpfs tmpfs "$2/view/$folder"; done
mkdir -p "$2/view/run/udev/data"
echo ready
exec sleep infinity`;

/** Starts it; whatever it mounts ends with it. */
export async function startLiveHost(folder: string): Promise<LiveHost> {
  mkdirSync(folder);
  const image = join(partFolder(liveRoot), 'live.raw');
  const inside = ['sh', '-c', setting, 'sh', image, folder];
  // The kernel ends it when the test's process ends, in whatever way.
  const argv = ['--mount', '--propagation', 'private', '--', 'setpriv', '--pdeathsig', 'KILL'];
  const keeper = spawn('unshare', [...argv, '--', ...inside], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = once(keeper, 'close');
  const said = await Promise.race([once(keeper.stdout, 'data'), gone]);
  if (String(said[0]).trim() !== 'ready') throw new Error('the live system cannot be mounted here');
  const prefix = [
    ...['nsenter', `--mount=/proc/${String(keeper.pid)}/ns/mnt`, 'chroot', join(folder, 'view')],
    ...['env', '--ignore-environment', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'LC_ALL=C.UTF-8'],
  ];
  const ask = (...words: readonly string[]): string =>
    execFileSync(prefix[0] ?? '', [...prefix.slice(1), ...words], { encoding: 'utf8' });
  return {
    host: hostBehind(prefix),
    ask,
    async [Symbol.asyncDispose]() {
      keeper.kill('SIGKILL');
      await gone;
    },
  };
}

/** The host port with every command and file behind some words; nothing here watches or locks. */
function hostBehind(prefix: readonly string[]): Host {
  const access = { prefix, environment: process.env, onCommand: undefined };
  const run: RunOnHost = (argv, options) => runCommand(access, { ...options, argv });
  const unused = (): never => {
    throw new Error('no step here watches or locks');
  };
  return {
    exec: async (argv, options) => trimmed(await run(argv, options)),
    readText: (path, signal) => readOnHost(run, path, signal),
    writeFile: (path, content, options) => writeOnHost(run, { path, content }, options),
    remove: (path, signal) => removeOnHost(run, path, signal),
    list: (path, signal) => listOnHost(run, path, signal),
    realPath: (path, signal) => realPathOnHost(run, path, signal),
    watch: unused,
    lock: unused,
  };
}

/** Tells lsblk of the live system what udev would tell: the labels of the partitions of a CoreOS disk. */
export function udevLabels({ ask }: LiveHost, disk: string): void {
  const labels = { 3: 'boot', 4: 'root' };
  for (const [number, label] of Object.entries(labels)) {
    const [major, minor] = ask('lsblk', '-dno', 'MAJ:MIN', `${disk}p${number}`).trim().split(':');
    const path = `/run/udev/data/b${major ?? ''}:${minor ?? ''}`;
    ask('sh', '-c', `printf 'E:ID_FS_LABEL=${label}\\nE:ID_FS_LABEL_ENC=${label}\\n' > ${path}`);
  }
}
