/** Where the registry data of the live medium is mounted. */
export const registrySource = '/mnt/agentdata';

/** Where the root file system of the new system is mounted meanwhile. */
export const rootMount = '/mnt/root';

/** Where the new system looks for the registry data. */
export const registryTarget = `${rootMount}/ostree/deploy/rhcos/var/lib/iri-registry`;

const transposeScript =
  '/usr/lib/dracut/modules.d/40ignition-ostree/ignition-ostree-transposefs.sh';

/** Measures the registry data. */
export const measureArgv = ['du', '-sb', registrySource] as const;

/** Mounts the root file system of the new system. */
export const mountRootArgv = (partition: string): readonly string[] => [
  ...['mount', partition, rootMount],
];

/** Thaws the root file system: an image that was written offline is left frozen. */
export const thawArgv = ['sh', '-c', `fsfreeze --unfreeze ${rootMount} || true`] as const;

/** Freezes the root file system, so that all is on the disk. */
export const freezeArgv = ['fsfreeze', '--freeze', rootMount] as const;

/** Takes the root file system out. */
export const unmountArgv = ['umount', rootMount] as const;

/** The partition that grows, and how much of the disk stays free. */
export interface Growth {
  readonly disk: string;
  readonly partition: number;
  /** Text where it is not known yet. */
  readonly freePercent: number | string;
}

/** Grows the root partition, leaving room. */
export const growArgv = ({ disk, partition, freePercent }: Growth): readonly string[] => [
  ...['growpart', `--free-percent=${freePercent}`, disk, String(partition)],
];

/** Grows the root file system to its partition. */
export const growFileSystemArgv = ['xfs_growfs', rootMount] as const;

/**
 * Recreates the root file system with allocation groups that suit its new size: XFS made small and
 * grown far is slow. The script of RHCOS does it on first boot, above a threshold; here it is
 * asked for in any case, and early, since the data would otherwise be moved twice.
 */
export const transposeArgvs = [
  ['bash', '-c', `sed 's/threshold=[0-9]*/threshold=0/' ${transposeScript} | bash -s autosave-xfs`],
  ['bash', '-c', `${transposeScript} restore`],
  ['bash', '-c', `${transposeScript} cleanup`],
] as const;

/** Copies the registry data. */
export const copyArgv = [
  'sh',
  '-c',
  `rsync -ah --info=progress2 ${registrySource}/ ${registryTarget}/`,
] as const;

/** The bytes that `measureArgv` printed; undefined when it printed something else. */
export function parseMeasured(stdout: string): number | undefined {
  const bytes = /^\s*(\d+)(?:\s|$)/.exec(stdout)?.[1];
  return bytes === undefined ? undefined : Number(bytes);
}

/** Room that the data needs: two and a half times its size, as upgrades bring their own. */
export const neededBytes = (registryBytes: number): number => Math.floor((registryBytes * 5) / 2);
