import { seconds } from '../../model/duration.ts';
import { osFailure } from '../../os/failures.ts';
import { describe } from '../../os/decide.ts';
import { readFreeBytes } from '../../os/registry-image.ts';
import { unreadableOutput } from '../host-commands.ts';
import { ask } from './read-host.ts';
import type { CommandScope, OsSnapshot } from './request.ts';

const freeBootArgv = ['df', '--output=avail', '--block-size=1', '/boot'] as const;

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
  scope: Pick<CommandScope, 'host' | 'signal'>,
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
  const { stdout } = await scope.host.exec(freeBootArgv, {
    signal: scope.signal,
    limit: seconds(30),
  });
  const free = readFreeBytes(stdout);
  if (free === undefined) throw unreadableOutput('df', 'free bytes', stdout);
  const running = runningFolder(commandLine);
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
async function sizes(
  scope: Pick<CommandScope, 'host' | 'signal'>,
  folder: string,
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const line of ((await ask(scope, kernelsArgv(folder))) ?? '').split('\n')) {
    const [, bytes, at = ''] = /^(\d+) (\S+)$/.exec(line) ?? [];
    if (bytes !== undefined) found.set(at, (found.get(at) ?? 0) + Number(bytes));
  }
  return found;
}

/** The folder of the running kernel. */
function runningFolder(commandLine: string): string {
  const [, stateroot, checksum] =
    /(?:^| )ostree=\/ostree\/boot\.[01]\/([^/ ]+)\/([0-9a-f]+)\//.exec(commandLine) ?? [];
  return `${bootFolder}/${stateroot}-${checksum}`;
}

const mebibytes = (bytes: number): number => Math.ceil(bytes / (1024 * 1024));
