import { minutes } from '../../model/duration.ts';
import { osFailure } from '../../os/failures.ts';
import { describe } from '../../os/decide.ts';
import { unreadableOutput } from '../host-commands.ts';
import { ask } from './read-host.ts';
import type { ApplyPlan, CommandScope, OsSnapshot } from './request.ts';

type RoomScope = Pick<CommandScope, 'host' | 'signal'>;

async function freeBytes({ host, signal }: RoomScope, folder: string): Promise<number> {
  const argv = ['df', '--output=avail', '--block-size=1', folder];
  const { stdout } = await host.exec(argv, { signal, limit: minutes(2) });
  const last = stdout.trim().split('\n').at(-1)?.trim() ?? '';
  if (/^\d+$/.test(last)) return Number(last);
  throw unreadableOutput('df', 'free bytes', stdout);
}

/** Upper bound of the ratio of a layer's size on disk to its compressed one; Lab CoreOS has 2.1. */
const growth = 3;

/**
 * ostree itself keeps 500 MB free (`min-free-space-size`); the deployment's own files come in
 * addition.
 */
const reserve = 600 * 1024 * 1024;

/**
 * Checks that the bytes to pull fit, if their number is known.
 * @throws AgentError `os.no-space`
 */
export async function checkFreeSpace(scope: RoomScope, plan: ApplyPlan): Promise<void> {
  const { kind, missingBytes } = plan;
  if (kind === 'keep' || kind === 'unlock' || missingBytes === undefined) return;
  const free = await freeBytes(scope, '/sysroot');
  const needed = missingBytes * growth + reserve;
  if (free >= needed) return;
  const what = `/sysroot has ${mebibytes(free)} MiB free, and ${mebibytes(needed)} MiB are needed`;
  throw osFailure('os.no-space', what, { context: { free, needed, pulled: missingBytes } });
}

/** Prints size and folder of each kernel and initramfs. */
const kernelsArgv = (folder: string): readonly string[] => [
  ...['find', folder, '-maxdepth', '2', '-type', 'f'],
  ...['(', '-name', 'vmlinuz*', '-o', '-name', 'initramfs*', ')', '-printf', String.raw`%s %h\n`],
];

/** Folder of ostree with a folder for each kernel and its initramfs, `STATEROOT-CHECKSUM`. */
const bootFolder = '/boot/ostree';

/**
 * Checks that kernel and initramfs of the staged deployment fit into /boot, where ostree copies
 * them at shutdown. Files of earlier deployments alone count as free: ostree removes them when it
 * needs the room. An existing kernel needs no room.
 * @throws AgentError `os.no-space`
 */
export async function checkBootRoom(
  scope: RoomScope,
  { status, commandLine }: OsSnapshot,
): Promise<void> {
  const { staged } = status;
  if (staged?.stateroot === undefined || staged.serial === undefined) return;
  const { stateroot, checksum, serial } = staged;
  const deployment = `/ostree/deploy/${stateroot}/deploy/${checksum}.${serial}`;
  const [needed = 0] = (await sizes(scope, `${deployment}/usr/lib/modules`)).values();
  if (needed === 0) return;
  const there = await sizes(scope, bootFolder);
  if ([...there.values()].includes(needed)) return;
  const free = await freeBytes(scope, '/boot');
  const [, root, commit] =
    /(?:^| )ostree=\/ostree\/boot\.[01]\/([^/ ]+)\/([0-9a-f]+)\//.exec(commandLine) ?? [];
  const running = `${bootFolder}/${root}-${commit}`;
  const earlier = [...there].filter(([folder]) => folder !== running);
  const freed = earlier.reduce((sum, [, bytes]) => sum + bytes, 0);
  if (free + freed >= needed) return;
  const what = `/boot has ${mebibytes(free)} MiB free, and ${mebibytes(freed)} MiB of earlier systems`;
  const image = describe(staged);
  throw osFailure('os.no-space', `${what}; the kernel of ${image} needs ${mebibytes(needed)} MiB`, {
    context: { free, freed, needed },
  });
}

/** Bytes of kernel and initramfs, by their folder. */
async function sizes(scope: RoomScope, folder: string): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const line of ((await ask(scope, kernelsArgv(folder))) ?? '').split('\n')) {
    const [, bytes, at = ''] = /^(\d+) (\S+)$/.exec(line) ?? [];
    if (bytes !== undefined) found.set(at, (found.get(at) ?? 0) + Number(bytes));
  }
  return found;
}

const mebibytes = (bytes: number): number => Math.ceil(bytes / (1024 * 1024));
