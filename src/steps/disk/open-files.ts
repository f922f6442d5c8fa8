import { seconds } from '../../model/duration.ts';
import type { Host } from '../../ports/host.ts';
import type { BlockDevice } from './lsblk.ts';
import { withAllOn } from './tree.ts';

/** A process that has a block device open. */
export interface Opener {
  readonly pid: number;
  readonly device: string;
}

/** Services that look at every disk and do not write to it. */
const watchers: ReadonlySet<string> = new Set([
  'systemd-udevd',
  '(udev-worker)',
  'multipathd',
  'smartd',
  'udisksd',
]);

/** Looks for processes that have one of some device nodes open. */
export function openersArgv(nodes: readonly string[]): readonly string[] {
  const names = nodes.flatMap((node, index) =>
    index === 0 ? ['-lname', node] : ['-o', '-lname', node],
  );
  return [
    ...['find', '/proc', '-mindepth', '3', '-maxdepth', '3'],
    ...['-path', '/proc/[0-9]*/fd/*', '(', ...names, ')', '-printf', '%p %l\\n'],
  ];
}

/** The device nodes of a disk and of all that stands on it. */
export const nodesOf = (disk: BlockDevice): readonly string[] => [
  ...new Set(withAllOn(disk).flatMap(({ path, kname }) => [path, `/dev/${kname}`])),
];

/** Reads the output of `openersArgv`: each process once for each device. */
export function parseOpeners(stdout: string): readonly Opener[] {
  const found = new Map<string, Opener>();
  for (const line of stdout.split('\n')) {
    const [, pid, device] = /^\/proc\/(\d+)\/fd\/\d+ (\S+)$/.exec(line.trim()) ?? [];
    if (pid === undefined || device === undefined) continue;
    found.set(`${pid} ${device}`, { pid: Number(pid), device });
  }
  return [...found.values()];
}

/**
 * The processes that have the disk open, as people read them; services that only watch disks are
 * left out.
 * @throws AgentError `command.*`
 */
export async function readOpeners(
  host: Host,
  disk: BlockDevice,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const argv = openersArgv(nodesOf(disk));
  // find ends with 1 when a process went away while it looked.
  const { stdout } = await host.exec(argv, { signal, limit: seconds(30), accept: [0, 1] });
  const named: string[] = [];
  for (const { pid, device } of parseOpeners(stdout)) {
    const name = (await host.readText(`/proc/${pid}/comm`, signal))?.trim();
    if (name === undefined || watchers.has(name)) continue;
    named.push(`${device} is open in ${name} (process ${pid})`);
  }
  return named;
}
