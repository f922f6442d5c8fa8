import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { liveRoot } from '../../scripts/parts/scripted.ts';
import { partFolder } from '../../scripts/parts/part.ts';
import { takeLock } from '../../src/adapters/host/host-lock.ts';
import { hostFiles } from '../../src/adapters/host/host-files.ts';
import { runHostCommand } from '../../src/adapters/host/run-command.ts';
import type { Host } from '../../src/ports/host.ts';

/**
 * The live system as a folder with mounts of its own: its programs run on this machine's kernel.
 */
export interface LiveHost extends AsyncDisposable {
  readonly host: Host;
  /** Runs a command of the live system and returns its output. */
  readonly ask: (...argv: readonly string[]) => string;
}

/**
 * `$1` is the live system, an image or a tree, `$2` the working folder; the last line reports that
 * all mounts are done. The shell stays as process 1, whose mounts are the mounts of the host.
 */
const setting = `set -e
mkdir -p "$2/read" "$2/write" "$2/view"
if [ -d "$1" ]; then mount --bind "$1" "$2/read"; else mount -o loop,ro "$1" "$2/read"; fi
mount -t tmpfs tmpfs "$2/write"
mkdir "$2/write/upper" "$2/write/work"
mount -t overlay overlay -o lowerdir="$2/read",upperdir="$2/write/upper",workdir="$2/write/work" "$2/view"
cd "$2/view"
mkdir -p proc sys dev run tmp mnt
for folder in sys dev; do mount --rbind "/$folder" "$folder"; done
mount -t proc proc proc
for folder in run tmp; do mount -t tmpfs tmpfs "$folder"; done
mkdir -p run/udev/data run/lock
mkdir -p run/before
pivot_root . run/before
umount --lazy /run/before
exec sh -c 'echo ready; read end'`;

/** Fails for a missing program as the agent's own nsenter does, which `env` replaces here. */
const orMissing = `command -v -- "$1" >/dev/null && exec "$@"
echo "nsenter: failed to execute $1: No such file or directory" >&2
exit 127`;

/**
 * Starts it, with processes and mounts of its own; its mounts end with it.
 * @param system image or tree of the live system
 */
export async function startLiveHost(
  folder: string,
  system = join(partFolder(liveRoot), 'live.raw'),
): Promise<LiveHost> {
  mkdirSync(folder);
  const inside = ['sh', '-c', setting, 'sh', system, folder];
  // The kernel ends it when the test's process ends, for any reason.
  const argv = ['--pdeathsig', 'KILL', '--', 'unshare', '--mount', '--propagation', 'private'];
  const keeper = spawn(
    'setpriv',
    [...argv, '--pid', '--fork', '--kill-child=KILL', '--', ...inside],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const gone = once(keeper, 'close');
  const said = await Promise.race([once(keeper.stdout, 'data'), gone]);
  if (String(said[0]).trim() !== 'ready') throw new Error('the live system cannot be mounted here');
  const own = `/proc/${String(keeper.pid)}`;
  const first = readFileSync(`${own}/task/${String(keeper.pid)}/children`, 'utf8').trim();
  const prefix = [
    ...['nsenter', '--target', first, '--mount', '--pid'],
    ...['env', '--ignore-environment', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'LC_ALL=C.UTF-8'],
    ...['sh', '-c', orMissing, 'sh'],
  ];
  const ask = (...words: readonly string[]): string =>
    execFileSync(prefix[0] ?? '', [...prefix.slice(1), ...words], { encoding: 'utf8' });
  return {
    host: hostBehind(prefix, `/proc/${first}/root`),
    ask,
    async [Symbol.asyncDispose]() {
      keeper.kill('SIGKILL');
      await gone;
    },
  };
}

/** The host port with a prefix before its commands, and with its files below a root. */
function hostBehind(prefix: readonly string[], root: string): Host {
  const access = { prefix, environment: process.env, onCommand: undefined };
  return {
    ...hostFiles({ root, pollInterval: 1000 }),
    exec: (argv, options) => runHostCommand(access, { ...options, argv }),
    lock: (name, signal) => takeLock(access, name, signal),
  };
}

/**
 * Gives lsblk of the live system the data of udev: the labels of the partitions of a CoreOS disk.
 */
export function udevLabels({ ask }: LiveHost, disk: string): void {
  const labels = { 3: 'boot', 4: 'root' };
  for (const [number, label] of Object.entries(labels)) {
    const [major, minor] = ask('lsblk', '-dno', 'MAJ:MIN', `${disk}p${number}`).trim().split(':');
    const path = `/run/udev/data/b${major ?? ''}:${minor ?? ''}`;
    ask('sh', '-c', `printf 'E:ID_FS_LABEL=${label}\\nE:ID_FS_LABEL_ENC=${label}\\n' > ${path}`);
  }
}
