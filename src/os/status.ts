/** One system that the host keeps. */
export interface OsDeployment {
  /** Name of the image, byte for byte as the host records it; none for a bare ostree commit. */
  readonly image?: string | undefined;
  /** `sha256:…` of the manifest that was pulled. */
  readonly digest?: string | undefined;
  /** Checksum of the ostree commit; an image imported twice has two. */
  readonly checksum: string;
  readonly version?: string | undefined;
  readonly stateroot?: string | undefined;
  readonly isPinned: boolean;
  readonly verification: ImageVerification;
  /** Place in the list of ostree, by which its commands name a deployment. */
  readonly index?: number | undefined;
  /** Which of the deployments of one commit it is. */
  readonly serial?: number | undefined;
  /** It is staged, and locked: a reboot leaves it out. */
  readonly isLocked?: boolean;
}

/** What a host runs, and what it can boot. */
export interface OsStatus {
  readonly booted?: OsDeployment | undefined;
  /** Boots next; written to the boot loader at shutdown. */
  readonly staged?: OsDeployment | undefined;
  /** Boots next, since it was put first: by a rollback, or by a deploy without staging. */
  readonly pending?: OsDeployment | undefined;
  /** What a rollback leads to. */
  readonly rollback?: OsDeployment | undefined;
  readonly others: readonly OsDeployment[];
  /** Another is changing the system now. */
  readonly isBusy: boolean;
  /** The image that an upgrade follows, where it is not that of what boots next. */
  readonly followed?: string | undefined;
  /** The program refuses every change. */
  readonly isReadOnly?: boolean;
  /** What is staged was not staged to its end: images that are bound to it may be missing. */
  readonly isUnfinished?: boolean;
}

/** What the host boots next when that is not what runs now. */
export const nextOf = ({ staged, pending }: OsStatus): OsDeployment | undefined =>
  staged === undefined || staged.isLocked === true ? pending : staged;

/**
 * Whether two deployments are one; a change of kernel arguments alone makes another of the same
 * commit.
 */
export const isSameDeployment = (
  one: OsDeployment | undefined,
  other: OsDeployment | undefined,
): boolean =>
  one?.checksum === other?.checksum &&
  one?.serial === other?.serial &&
  one?.image === other?.image &&
  (one?.isLocked ?? false) === (other?.isLocked ?? false);

/** How a host checks the image that it follows. */
export type ImageVerification = 'none' | 'policy' | 'remote';

/** Where a deployment comes from, as ostree records it. */
interface ImageOrigin {
  /** Name in a registry; with its transport in front when it comes from elsewhere. */
  readonly spec: string;
  readonly verification: ImageVerification;
}

/** What each prefix says (ostree-rs-ext, `container::OstreeImageReference`). */
const prefixes: readonly (readonly [RegExp, ImageVerification])[] = [
  [/^ostree-unverified-(registry|image):/, 'none'],
  [/^ostree-image-signed:/, 'policy'],
  [/^ostree-remote-(registry|image):[^:]*:/, 'remote'],
];

/**
 * Reads a container image reference of ostree: `ostree-unverified-registry:NAME`,
 * `ostree-image-signed:docker://NAME`, `ostree-remote-image:REMOTE:TRANSPORT:NAME`.
 */
export function readOrigin(reference: string): ImageOrigin {
  for (const [prefix, verification] of prefixes) {
    const match = prefix.exec(reference);
    if (match === null) continue;
    const rest = reference.slice(match[0].length);
    // `…-registry:` is followed by a bare name, the others by a transport.
    const spec = match[1] === 'registry' ? rest : rest.replace(/^(registry:|docker:\/\/)/, '');
    return { spec, verification };
  }
  return { spec: reference, verification: 'none' };
}

/** A reference for a new image that is checked no less than the one that runs now. */
export const renderOrigin = (spec: string, verification: 'none' | 'policy'): string =>
  verification === 'policy'
    ? `ostree-image-signed:docker://${spec}`
    : `ostree-unverified-registry:${spec}`;

/** `container-image-reference` in an origin file of ostree, a key file; undefined for a commit. */
export const referenceIn = (originFile: string): string | undefined =>
  /^container-image-reference=(.+)$/m.exec(originFile)?.[1]?.trim();
