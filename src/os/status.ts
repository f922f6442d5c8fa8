/** One deployment of a host. */
export interface OsDeployment {
  /** Name of the image, byte for byte as the host records it; none for a bare ostree commit. */
  readonly image?: string | undefined;
  /** `sha256:…` of the pulled manifest. */
  readonly digest?: string | undefined;
  /** Checksum of the ostree commit; a second import of the same image has another one. */
  readonly checksum: string;
  readonly version?: string | undefined;
  readonly stateroot?: string | undefined;
  readonly isPinned: boolean;
  readonly verification: ImageVerification;
  /** Index in the list of ostree, by which its commands name a deployment. */
  readonly index?: number | undefined;
  /** Serial number of the deployment among those of one commit. */
  readonly serial?: number | undefined;
  /** It is staged and locked: a reboot does not boot it. */
  readonly isLocked?: boolean;
}

/** The deployments of a host, and the state of the program that manages them. */
export interface OsStatus {
  readonly booted?: OsDeployment | undefined;
  /** Boots next: ostree writes it to the boot loader at shutdown. */
  readonly staged?: OsDeployment | undefined;
  /** Boots next because a rollback, or a deployment without staging, put it first. */
  readonly pending?: OsDeployment | undefined;
  /** The deployment that a rollback boots. */
  readonly rollback?: OsDeployment | undefined;
  readonly others: readonly OsDeployment[];
  /** Another program is changing the system now. */
  readonly isBusy: boolean;
  /** The image that an upgrade follows, if it is not the image of the next deployment. */
  readonly followed?: string | undefined;
  /** The program refuses every change. */
  readonly isReadOnly?: boolean;
  /** The staging did not complete: images that are bound to the staged one may be missing. */
  readonly isUnfinished?: boolean;
}

/** The next deployment; undefined if it is the running one. */
export const nextOf = ({ staged, pending }: OsStatus): OsDeployment | undefined =>
  staged === undefined || staged.isLocked === true ? pending : staged;

/**
 * Whether two deployments are the same; a change of kernel arguments makes another deployment of
 * the same commit.
 */
export const isSameDeployment = (
  one: OsDeployment | undefined,
  other: OsDeployment | undefined,
): boolean =>
  one?.checksum === other?.checksum &&
  one?.serial === other?.serial &&
  one?.image === other?.image &&
  (one?.isLocked ?? false) === (other?.isLocked ?? false);

/** How a host verifies the image that it follows. */
export type ImageVerification = 'none' | 'policy' | 'remote';

/** The origin of a deployment, as ostree records it. */
interface ImageOrigin {
  /** Name in a registry; with its transport as a prefix if it comes from elsewhere. */
  readonly spec: string;
  readonly verification: ImageVerification;
}

/** The verification that each prefix means (ostree-rs-ext, `container::OstreeImageReference`). */
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
    // `…-registry:` has a bare name behind it, the other prefixes have a transport.
    const spec = match[1] === 'registry' ? rest : rest.replace(/^(registry:|docker:\/\/)/, '');
    return { spec, verification };
  }
  return { spec: reference, verification: 'none' };
}

/** A reference for a new image that is verified at least as strictly as the running one. */
export const renderOrigin = (spec: string, verification: 'none' | 'policy'): string =>
  verification === 'policy'
    ? `ostree-image-signed:docker://${spec}`
    : `ostree-unverified-registry:${spec}`;

/** `container-image-reference` of an origin file of ostree, a key file; undefined for a commit. */
export const referenceIn = (originFile: string): string | undefined =>
  /^container-image-reference=(.+)$/m.exec(originFile)?.[1]?.trim();
