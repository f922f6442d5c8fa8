import type { EncapsulatedMachineConfig } from '../../ignition/encapsulated.ts';
import type { FoundPartition } from '../disk/block-devices.ts';
import { kernelArgumentChanges } from '../disk/writer-args.ts';
import { splitArguments } from '../../os/kernel-arguments.ts';
import { readOrigin, referenceIn } from '../../os/status.ts';
import { imageFailure } from './failures.ts';
import { freeze, leaveCommands, mountCommands, unmount, type UndoableCommand } from './undoable.ts';

/** Pull secrets of the host. */
export const authFile = '/root/.docker/config.json';

/** Set by GRUB on the first boot; the system itself replaces it, no shell does. */
export const firstBootArgument = '$ignition_firstboot';

/** Where an operating system is pulled from. */
export interface PullSource {
  /** Pull spec; that of `os.osImageURL` unless the image is nearer under another name. */
  readonly image: string;
  /** File with the pull secrets for it. */
  readonly authFile: string;
  /** Folder with certificates, `*.crt`, that are trusted beside those of the live system. */
  readonly certificates?: string;
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
  /** Whether SELinux of the live system enforces; it is permissive while ostree writes. */
  readonly isEnforcing: boolean;
  /** The root is mounted at another place too, by what must continue to write to it. */
  readonly isRootShared: boolean;
}

/** Where the file systems of the install disk are mounted meanwhile. */
export const rootMount = '/mnt';
export const bootMount = '/mnt/boot';

/**
 * The commands that put the final operating system on the disk. The file systems are frozen before
 * they are unmounted, so that GRUB reads what XFS would else keep in its log. A root that others
 * write to is only flushed: it would stay frozen for them.
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
      : [
          {
            argv: originsArgv(rootMount),
            check: (stdout: string): void =>
              refuseOrigins(stdout, { image: os.osImageURL, source: source.image }),
          },
        ]),
    ...leaveCommands(bootMount),
    ...(isRootShared ? [{ argv: ['sync', '--file-system', rootMount] }] : [freeze(rootMount)]),
    unmount(rootMount),
  ];
}

const growArgv = ({ disk, root, freePercent }: Overwrite): readonly string[] => [
  'growpart',
  ...(freePercent > 0 ? [`--free-percent=${freePercent}`] : []),
  disk,
  String(root.number),
];

function deployFinalArgv({ os, source, platform, writerArgs }: Overwrite): readonly string[] {
  const { image, certificates } = source;
  const target = `ostree-unverified-registry:${os.osImageURL}`;
  const extra = [
    ...kernelArgumentChanges(writerArgs).append,
    ...os.kernelArguments.flatMap(splitArguments),
  ];
  return [
    ...['ostree', 'container', 'image', 'deploy'],
    ...['--sysroot', rootMount, '--authfile', source.authFile],
    ...(certificates === undefined ? [] : ['--cert-dir', certificates]),
    ...['--imgref', `ostree-unverified-registry:${image}`],
    // What the node records, and pulls from later.
    ...(image === os.osImageURL ? [] : ['--target-imgref', target]),
    ...['--karg', platform, '--karg', firstBootArgument, '--stateroot', finalStateroot],
    ...extra.flatMap((argument) => ['--karg', argument]),
  ];
}

/**
 * The platform among the kernel arguments of the running system; bare metal unless it says else.
 */
export function platformArgument(kernelArguments: readonly string[]): string {
  const argument = kernelArguments.find((word) => word.startsWith('ignition.platform.id='));
  return argument ?? 'ignition.platform.id=metal';
}

/** The stateroot of RHCOS. */
export const finalStateroot = 'rhcos';

/** Prints what ostree has recorded of each deployment on a disk: where its updates come from. */
export const originsArgv = (root: string): readonly string[] => [
  ...['find', `${root}/ostree/deploy/${finalStateroot}/deploy`, '-maxdepth', '1'],
  ...['-name', '*.origin', '-exec', 'cat', '{}', '+'],
];

/** The images in the output of `originsArgv`; deployments of the disk image itself have none. */
export const imagesIn = (stdout: string): readonly string[] =>
  stdout.split('\n').flatMap((line) => {
    const reference = referenceIn(line);
    return reference === undefined ? [] : [readOrigin(reference).spec];
  });

/** What the deployments of a disk may follow. */
interface WantedOrigin {
  /** Pull spec that one of them must follow. */
  readonly image: string;
  /**
   * Pull spec by which it was pulled. None may follow an image of that registry, unless `image` is
   * there too.
   */
  readonly source: string;
}

/**
 * Refuses a disk that does not follow an image, or that follows something in the registry that it
 * was only pulled from. Another image of an earlier run may stand beside it.
 * @throws AgentError `image.wrong-origin`
 */
export function refuseOrigins(stdout: string, { image, source }: WantedOrigin): void {
  const images = imagesIn(stdout);
  const passing = registryOf(source) === registryOf(image) ? undefined : registryOf(source);
  const wrong = images.filter((found) => registryOf(found) === passing || found === source);
  if (images.includes(image) && wrong.length === 0) return;
  const found = [wrong, images].find((list) => list.length > 0)?.join(', ') ?? 'nothing';
  const what = `the disk would update from ${found} instead of ${image}`;
  throw imageFailure('image.wrong-origin', what, { context: { found, image } });
}

const registryOf = (pullSpec: string): string => pullSpec.split('/')[0] ?? '';
