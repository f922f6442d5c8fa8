import type { EncapsulatedMachineConfig } from '../../ignition/encapsulated.ts';
import type { FoundPartition } from '../disk/block-devices.ts';
import { authFile, firstBootArgument } from './existing-root.ts';
import { kernelArgumentChanges } from './writer-args.ts';
import { finalStateroot, originsArgv, refuseOrigins, type WantedOrigin } from './origins.ts';

/** Where an operating system is pulled from. */
export interface PullSource {
  /** Pull spec; that of `os.osImageURL` unless the image is nearer under another name. */
  readonly image: string;
  /** File with the pull secrets for it. */
  readonly authFile: string;
  /** Folder with certificates, `*.crt`, that are trusted beside those of the live system. */
  readonly certificates?: string;
  /** It is on this host, which no proxy is asked for. */
  readonly isOwn?: boolean;
}

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
  readonly source: PullSource;
  readonly writerArgs: readonly string[];
  /** Whether SELinux of the live system enforces; it only tells while ostree writes. */
  readonly isEnforcing: boolean;
  /** The root is mounted at another place too, by what must go on writing to it. */
  readonly isRootShared: boolean;
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
  /** Throws when what the command printed shows that something is wrong. */
  readonly check?: (stdout: string) => void;
}

/** Where the file systems of the install disk are mounted meanwhile. */
export const rootMount = '/mnt';
export const bootMount = '/mnt/boot';

/**
 * The commands that put the final operating system on the disk. The file systems are frozen before
 * they are unmounted, so that GRUB reads what XFS would else keep in its log. A root that others write
 * to is only flushed: it would stay frozen for them.
 */
export function overwriteCommands(overwrite: Overwrite): readonly UndoableCommand[] {
  const { root, boot, os, source, isEnforcing, isRootShared } = overwrite;
  return [
    ...mountCommands(root.path, rootMount),
    ...mountCommands(boot.path, bootMount),
    // 1: the partition fills its place already, after an earlier attempt.
    { argv: growArgv(overwrite), accept: [0, 1] },
    { argv: ['xfs_growfs', rootMount] },
    // Where SELinux is off, or is not there at all, the command fails.
    ...(isEnforcing ? [{ argv: ['setenforce', '0'] }] : []),
    { argv: deployFinalArgv(overwrite), isLong: true },
    // Only a name that was given beside that of the image could be the wrong one.
    ...(source.image === os.osImageURL
      ? []
      : [readsBackAs({ image: os.osImageURL, source: source.image })]),
    ...leaveCommands(bootMount),
    ...(isRootShared ? [{ argv: ['sync', '--file-system', rootMount] }] : [freeze(rootMount)]),
    { argv: ['umount', rootMount], settles: rootMount },
  ];
}

const readsBackAs = (wanted: WantedOrigin): UndoableCommand => ({
  argv: originsArgv(rootMount),
  check: (stdout) => refuseOrigins(stdout, wanted),
});

/** Leaves a mounted file system of the install disk, with all of it where GRUB finds it. */
export const leaveCommands = (place: string): readonly UndoableCommand[] => [
  freeze(place),
  { argv: ['umount', place], settles: place },
];

/** What is known of an overwrite before the disk and the rendered config are. */
export type PreviewedOverwrite = Pick<Overwrite, 'disk' | 'writerArgs'> &
  Partial<Pick<Overwrite, 'source' | 'isRootShared'>> & {
    /** Pull spec that the node will know the image by. */
    readonly image?: string;
  };

/** The commands as a plan shows them, before the disk and the rendered config are known. */
export const previewCommands = ({
  disk,
  writerArgs,
  image = '<osImageURL>',
  source = { image, authFile },
  isRootShared = false,
}: PreviewedOverwrite): readonly (readonly string[])[] =>
  overwriteCommands({
    disk,
    // Numbers of the partitions of a CoreOS disk, which coreos-assembler makes; a run finds them by label.
    root: { ...unknownPartition, path: '<root partition>', number: 4 },
    boot: { ...unknownPartition, path: '<boot partition>', number: 3 },
    freePercent: 0,
    platform: 'ignition.platform.id=metal',
    os: { osImageURL: image, kernelArguments: [] },
    source,
    writerArgs,
    isEnforcing: true,
    isRootShared,
  }).map(({ argv }) => argv);

const unknownPartition = { sizeBytes: 0, partUuid: '' } as const;

/**
 * Mounts a file system of the install disk. One that an earlier run has left frozen is frozen still, and whoever
 * wrote to it would wait for ever.
 */
export const mountCommands = (device: string, place: string): readonly UndoableCommand[] => [
  { argv: ['mount', device, place], undo: ['umount', place], place },
  // 1: it is not frozen.
  { argv: ['fsfreeze', '--unfreeze', place], accept: [0, 1] },
];

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

function deployFinalArgv({ os, source, platform, writerArgs }: Overwrite): readonly string[] {
  const { image, certificates } = source;
  const target = `ostree-unverified-registry:${os.osImageURL}`;
  const extra = [...kernelArgumentChanges(writerArgs).append, ...os.kernelArguments];
  return [
    'ostree',
    'container',
    'image',
    'deploy',
    '--sysroot',
    rootMount,
    '--authfile',
    source.authFile,
    ...(certificates === undefined ? [] : ['--cert-dir', certificates]),
    '--imgref',
    `ostree-unverified-registry:${image}`,
    // What the node records, and pulls from later.
    ...(image === os.osImageURL ? [] : ['--target-imgref', target]),
    '--karg',
    platform,
    '--karg',
    firstBootArgument,
    '--stateroot',
    finalStateroot,
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
