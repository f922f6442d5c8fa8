import type { EncapsulatedMachineConfig } from '../../ignition/encapsulated.ts';
import type { FoundPartition } from '../disk/partitions.ts';
import { authFile, firstBootArgument } from './existing-root.ts';
import { kernelArgumentChanges } from './kernel-arguments.ts';

/** What the final operating system is written with. */
export interface Overwrite {
  /** Kernel path of the disk. */
  readonly disk: string;
  readonly root: FoundPartition;
  readonly boot: FoundPartition;
  /** How much of the disk stays free for the root to grow on first boot; 0 leaves nothing. */
  readonly freePercent: number;
  /** `ignition.platform.id=metal` */
  readonly platform: string;
  readonly os: EncapsulatedMachineConfig;
  readonly writerArgs: readonly string[];
  /** Whether SELinux of the live system enforces; it only tells while ostree writes. */
  readonly isEnforcing: boolean;
}

/** A command that leaves something behind which must not stay when a later one fails. */
export interface UndoableCommand {
  readonly argv: readonly string[];
  readonly undo?: readonly string[];
  /** Exit codes that are an answer beside 0. */
  readonly accept?: readonly number[];
  /** What this command undoes itself: the undos that were registered under the place. */
  readonly settles?: string;
  readonly place?: string;
  /** It moves gigabytes. */
  readonly isLong?: boolean;
}

/** Where the file systems of the install disk are mounted meanwhile. */
export const rootMount = '/mnt';
export const bootMount = '/mnt/boot';

/**
 * The commands that put the final operating system on the disk. The file systems are frozen before
 * they are unmounted, so that GRUB reads what XFS would else keep in its log.
 */
export function overwriteCommands(overwrite: Overwrite): readonly UndoableCommand[] {
  const { root, boot, isEnforcing } = overwrite;
  return [
    mount(root.path, rootMount),
    mount(boot.path, bootMount),
    // 1: the partition fills its place already, after an earlier attempt.
    { argv: growArgv(overwrite), accept: [0, 1] },
    { argv: ['xfs_growfs', rootMount] },
    // Where SELinux is off, or is not there at all, the command fails.
    ...(isEnforcing ? [{ argv: ['setenforce', '0'] }] : []),
    { argv: deployFinalArgv(overwrite), isLong: true },
    freeze(bootMount),
    { argv: ['umount', bootMount], settles: bootMount },
    freeze(rootMount),
    { argv: ['umount', rootMount], settles: rootMount },
  ];
}

/** The commands as a plan shows them, before the disk and the rendered config are known. */
export const previewCommands = (
  disk: string,
  writerArgs: readonly string[],
): readonly (readonly string[])[] =>
  overwriteCommands({
    disk,
    // Numbers of the partitions of a CoreOS disk, which coreos-assembler makes; a run finds them by label.
    root: { ...unknownPartition, path: '<root partition>', number: 4 },
    boot: { ...unknownPartition, path: '<boot partition>', number: 3 },
    freePercent: 0,
    platform: 'ignition.platform.id=metal',
    os: { osImageURL: '<osImageURL>', kernelArguments: [] },
    writerArgs,
    isEnforcing: true,
  }).map(({ argv }) => argv);

const unknownPartition = { sizeBytes: 0, partUuid: '' } as const;

const mount = (device: string, place: string): UndoableCommand => ({
  argv: ['mount', device, place],
  undo: ['umount', place],
  place,
});

const freeze = (place: string): UndoableCommand => ({
  argv: ['fsfreeze', '--freeze', place],
  undo: ['fsfreeze', '--unfreeze', place],
  place,
});

const growArgv = ({ disk, root, freePercent }: Overwrite): readonly string[] => [
  'growpart',
  ...(freePercent > 0 ? [`--free-percent=${freePercent}`] : []),
  disk,
  String(root.number),
];

function deployFinalArgv({ os, platform, writerArgs }: Overwrite): readonly string[] {
  const extra = [...kernelArgumentChanges(writerArgs).append, ...os.kernelArguments];
  return [
    'ostree',
    'container',
    'image',
    'deploy',
    '--sysroot',
    rootMount,
    '--authfile',
    authFile,
    '--imgref',
    `ostree-unverified-registry:${os.osImageURL}`,
    '--karg',
    platform,
    '--karg',
    firstBootArgument,
    '--stateroot',
    'rhcos',
    ...extra.flatMap((argument) => ['--karg', argument]),
  ];
}

/** The platform among the kernel arguments of the running system; bare metal unless it says else. */
export function platformArgument(commandLine: string): string {
  const argument = commandLine
    .split(/\s+/)
    .find((word) => word.startsWith('ignition.platform.id='));
  return argument ?? 'ignition.platform.id=metal';
}
