// Erases a whole disk for its next owner, by the strongest method of the disk. Right before each
// command the step checks that it is the same disk and that it is not in use.
import * as z from 'zod';
import { jsonIn } from '../../lib/json.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { writesDisk } from '../conditions.ts';
import { unreadableOutput } from '../host-commands.ts';
import { step, type StepScope } from '../step.ts';
import { disksUnder, isUnformatted } from './block-devices.ts';
import { warnOfOthers } from './check.ts';
import { emptyDisk, settleArgv } from './empty.ts';
import { TargetDisk } from './facts.ts';
import { diskFailure } from './failures.ts';
import { diskReadiness, requireFree } from './guards.ts';
import { describeDisk } from './hints.ts';
import { requireAlone, writerLock } from './in-use.ts';
import { type Disks, execOnTarget, readDisks } from './target.ts';
import { readWriterSetup } from './writer-args.ts';

/** The methods to erase a disk, and the resulting state. */
export const eraseMethods = {
  'nvme-sanitize': {
    isSecure: true,
    says: 'the drive has erased all of its media, what it had set aside included (NVMe Sanitize)',
  },
  'nvme-format': {
    isSecure: true,
    says: 'the drive has erased all user data of the namespace (NVMe Format, Secure Erase)',
  },
  'secure-discard': {
    isSecure: true,
    says: 'the disk has erased each block and the copies that it had made of it (secure discard)',
  },
  zeros: {
    isSecure: false,
    says: 'each block was overwritten with zeros; blocks that the disk has set aside, bad sectors and spare flash, may still hold data: it offers no erasure of its own that works here',
  },
} as const;

type EraseMethod = keyof typeof eraseMethods;

/** An erased disk and the method. */
export interface ErasedDisk {
  readonly disk: TargetDisk;
  readonly method: EraseMethod;
}

type EraseScope = StepScope<'host' | 'clock'>;

/**
 * Checks that a disk may be erased: its owner named it by an identifier that no other disk of the
 * host has, no partition of it is kept, and its only users are those that the cleanup removes.
 * @param confirm the identifier that the owner gave
 */
export const checkErase = (confirm: string | undefined) =>
  step({
    id: 'disk/check-erase',
    title: 'Check that the disk is the one to erase, and that it is free',
    uses: ['host', 'clock'],
    needs: { disk: TargetDisk },
    when: writesDisk,
    effect: 'reads',
    limit: minutes(5),
    run: async (scope, { disk: target }) => {
      const { host, signal, note } = scope;
      if ((await readWriterSetup(scope)).keepsPartitions) {
        const what = `the settings keep partitions of ${target.path}`;
        throw diskFailure('disk.keeps-partitions', what, { context: { disk: target.path } });
      }
      const disks = await readDisks(host, target, signal);
      const { disk } = disks;
      if (disk.sizeBytes === 0)
        throw notWiped(disk, isUnformatted(disk) ? 'it is not formatted' : 'it says no size');
      const { problem, remarks } = diskReadiness(disks, { willBeCleaned: true, neededBytes: 0 });
      if (problem !== undefined) throw problem;
      for (const remark of remarks) note('info', remark);
      warnOfOthers(scope, disks);
      const [strongest] = await nvmeErasures(scope, target);
      note(
        'info',
        `${describeDisk(disk)} is erased by ${strongest?.method ?? 'secure-discard, or by zeros where it has none'}`,
      );
      const name = distinctName(disks);
      if (confirm !== name) {
        const shown = describeDisk(disk);
        const why =
          confirm === undefined
            ? `${shown} is not confirmed`
            : `--confirm ${confirm} is not what ${shown} is named by`;
        throw diskFailure('disk.not-confirmed', `nothing was erased: ${why}`, {
          hint: `everything on ${disk.path} will be lost: if it is the disk to erase, give --confirm ${JSON.stringify(name)}`,
          context: { disk: disk.path },
        });
      }
      await requireAlone(scope, target);
    },
  });

/**
 * An identifier that no other disk of the host has: the serial number, otherwise the WWN, otherwise
 * the path.
 */
export function distinctName({ roots, disk }: Disks): string {
  const own = disksUnder(roots, disk).map(({ kname }) => kname);
  const others = roots.filter(({ kname }) => kname !== disk.kname && !own.includes(kname));
  if (disk.serial !== '' && !others.some(({ serial }) => serial === disk.serial))
    return disk.serial;
  if (disk.wwn !== '' && !others.some(({ wwn }) => wwn === disk.wwn)) return disk.wwn;
  return disk.path;
}

const notWiped = ({ path }: { readonly path: string }, why: string): AgentError =>
  diskFailure('disk.not-wiped', `${path} was not erased: ${why}`, { context: { disk: path } });

/**
 * Takes down the users of the disk and erases it. A run that was stopped starts from the beginning,
 * but waits for a drive that is still erasing itself.
 * @param report receives the method
 */
export const eraseDisk = (report: (erased: ErasedDisk) => void) =>
  step({
    id: 'disk/erase',
    title: 'Erase the disk',
    uses: ['host', 'clock'],
    needs: { disk: TargetDisk },
    when: writesDisk,
    effect: 'destroys',
    limit: hours(7 * 24),
    run: async (scope, { disk }) => {
      const { host, signal } = scope;
      const method = await erase(scope, disk);
      await execOnTarget({ host, target: disk }, ['blockdev', '--rereadpt', disk.path], {
        signal,
        limit: minutes(2),
        // A device that cannot have partitions has no table to read again.
        accept: [0, 1],
      });
      // 1: udev did not process the events of some disk in time.
      await host.exec(settleArgv, { signal, limit: minutes(2), accept: [0, 1] });
      const signaturesArgv = ['wipefs', '--noheadings', '--output', 'TYPE,OFFSET', disk.path];
      const { stdout } = await host.exec(signaturesArgv, { signal, limit: minutes(2) });
      if (stdout.trim() !== '') throw notWiped(disk, `it still has ${stdout.trim()}`);
      report({ disk, method });
    },
  });

async function erase(scope: EraseScope, disk: TargetDisk): Promise<EraseMethod> {
  const { note } = scope;
  const own = await nvmeErasures(scope, disk);
  if (own[0]?.method === 'nvme-sanitize' && (await readSanitizeLog(scope, disk)).isRunning) {
    note('info', `${disk.path} erases itself since an earlier run`);
    await waitUntilSanitized(scope, disk);
    return 'nvme-sanitize';
  }
  for (const problem of await emptyDisk(scope, disk)) note('warn', problem);
  // nvme does not ask the kernel whether the disk is in use.
  await requireAlone(scope, disk);
  for (const { method, argv } of own) {
    if (!(await isAccepted(scope, () => runOnFree(scope, disk, argv)))) continue;
    if (method === 'nvme-sanitize') await waitUntilSanitized(scope, disk);
    return method;
  }
  if (await isAccepted(scope, () => discard(scope, disk, '--secure'))) return 'secure-discard';
  await discard(scope, disk, '--zeroout');
  return 'zeros';
}

/** Runs a command that erases, right after a check that the disk is the same one and free. */
async function runOnFree(
  scope: EraseScope,
  target: TargetDisk,
  argv: readonly string[],
): Promise<void> {
  const { host, signal } = scope;
  await requireFree(scope, target, false);
  await host.exec(argv, { signal, limit: hours(2), underLock: writerLock(target) });
}

/** Whether the disk supports a method to erase; the command of an unsupported one fails. */
async function isAccepted(
  { signal, note }: EraseScope,
  attempt: () => Promise<void>,
): Promise<boolean> {
  try {
    await attempt();
    return true;
  } catch (error) {
    signal.throwIfAborted();
    const isRefusal =
      error instanceof AgentError && /^command\.(failed|not-found)$/.test(error.code);
    if (!isRefusal) throw error;
    note('info', `continuing with the next way to erase: ${error.message}`);
    return false;
  }
}

/** Number of bytes between two checks of the disk. A hard disk needs a minute for them. */
const chunkBytes = 8 * 1024 ** 3;
/** The kernel cannot interrupt one of its requests: a stopped run waits for the end of one. */
const requestBytes = 256 * 1024 ** 2;

/**
 * Discards or zeroes every block; without `--force` it refuses a disk that is in use
 * (blkdiscard(8)).
 */
async function discard(
  scope: EraseScope,
  disk: TargetDisk,
  option: '--secure' | '--zeroout',
): Promise<void> {
  const { path, sizeBytes } = disk;
  let shown = 0;
  for (let offset = 0; offset < sizeBytes; offset += chunkBytes) {
    const length = Math.min(chunkBytes, sizeBytes - offset);
    await runOnFree(scope, disk, [
      ...['blkdiscard', option, '--step', String(requestBytes)],
      ...['--offset', String(offset), '--length', String(length), path],
    ]);
    const percent = Math.floor(((offset + length) * 100) / sizeBytes);
    if (percent > shown) scope.note('info', `${percent} % of ${path} is erased`);
    shown = percent;
  }
}

/** Fields of `nvme id-ctrl` (NVM Express Base Specification, Identify Controller). */
const NvmeController = z.object({
  /** Optional Admin Command Support: bit 1 Format NVM, bit 3 Namespace Management. */
  oacs: z.number(),
  /** Format NVM Attributes: bit 0 a format, bit 1 a secure erase applies to all namespaces. */
  fna: z.number(),
  /** Sanitize Capabilities: bit 0 crypto erase, bit 1 block erase; 0 before NVMe 1.3. */
  sanicap: z.number().default(0),
});
type NvmeController = z.infer<typeof NvmeController>;

const hasBit = (field: number, bit: number): boolean => Math.floor(field / 2 ** bit) % 2 === 1;

/** A command that makes a drive erase itself. */
interface NvmeErasure {
  readonly method: EraseMethod;
  readonly argv: readonly string[];
}

/**
 * The commands with which an NVMe drive erases itself, the strongest first. Sanitize erases every
 * namespace of the drive, and Format may do so too: no such command is used on a drive with another
 * namespace.
 * @param isAlone whether the namespace is the only one of its drive
 */
export function nvmeErasuresOf(
  path: string,
  { oacs, fna, sanicap }: NvmeController,
  isAlone: boolean,
): readonly NvmeErasure[] {
  const sanitize = (action: number): NvmeErasure => ({
    method: 'nvme-sanitize',
    argv: ['nvme', 'sanitize', path, `--sanact=${action}`],
  });
  const formatsAll = hasBit(fna, 0) || hasBit(fna, 1);
  return [
    ...(isAlone && hasBit(sanicap, 1) ? [sanitize(2)] : []),
    ...(isAlone && hasBit(sanicap, 0) ? [sanitize(4)] : []),
    ...(hasBit(oacs, 1) && (isAlone || !formatsAll)
      ? [{ method: 'nvme-format', argv: ['nvme', 'format', path, '--ses=1'] } as const]
      : []),
  ];
}

async function nvmeErasures(
  { host, signal, note }: EraseScope,
  { name, path }: TargetDisk,
): Promise<readonly NvmeErasure[]> {
  if (!name.startsWith('nvme')) return [];
  const ask = async (...args: readonly string[]): Promise<string> =>
    (await host.exec(['nvme', ...args], { signal, limit: minutes(2) })).stdout;
  try {
    const identity = await ask('id-ctrl', path, '--output-format=json');
    const { data: controller } = NvmeController.safeParse(jsonIn(identity));
    if (controller === undefined) throw unreadableOutput('nvme', 'controller', identity);
    // Only a drive that manages namespaces lists one that is attached to no host.
    const all = hasBit(controller.oacs, 3) ? ['--all'] : [];
    const namespaces = (await ask('list-ns', path, ...all)).match(/^\[/gm) ?? [];
    return nvmeErasuresOf(path, controller, namespaces.length === 1);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError)) throw error;
    note('warn', `${path} cannot be asked to erase itself: ${error.message}`);
    return [];
  }
}

/**
 * Parses the text of `nvme sanitize-log`: bits 2:0 of its status are 2 while the operation runs, 1
 * or 4 after success, 3 after a failure, and 0 if there was no operation; its progress is in units
 * of 1/65536 (NVM Express Base Specification, Sanitize Status log page).
 * @returns `isDone` if the last operation succeeded
 * @throws AgentError `command.unreadable`
 */
export function parseSanitizeLog(stdout: string) {
  const progress = /\(SPROG\) *: *(\d+)/.exec(stdout)?.[1];
  const status = /\(SSTAT\) *: *(?:0x)?([0-9a-f]+)/i.exec(stdout)?.[1];
  if (progress === undefined || status === undefined)
    throw unreadableOutput('nvme', 'log of the sanitize operation', stdout);
  const state = Number.parseInt(status, 16) % 8;
  const percent = Math.floor((Number(progress) * 100) / 65_536);
  return { isRunning: state === 2, isDone: state === 1 || state === 4, percent };
}

async function readSanitizeLog({ host, signal }: EraseScope, target: TargetDisk) {
  const argv = ['nvme', 'sanitize-log', target.path];
  const options = { signal, limit: minutes(2) };
  return parseSanitizeLog((await execOnTarget({ host, target }, argv, options)).stdout);
}

/** The drive continues by itself after the end of this run, and after a power loss too. */
async function waitUntilSanitized(scope: EraseScope, disk: TargetDisk): Promise<void> {
  await scope.until(
    `${disk.path} has erased itself`,
    async () => {
      const { isRunning, isDone, percent } = await readSanitizeLog(scope, disk);
      if (isRunning) return { status: `${percent} % is erased` };
      if (isDone) return { done: true };
      throw notWiped(disk, 'the drive reports that its sanitize operation failed, or never ran');
    },
    { every: seconds(5), within: hours(24) },
  );
}
