/** How a host checks the image that it follows. */
export type Verification = 'none' | 'policy' | 'remote';

/** Where a deployment comes from, as ostree records it. */
export interface ImageOrigin {
  /** Name in a registry; with its transport in front when it comes from elsewhere. */
  readonly spec: string;
  readonly verification: Verification;
}

/** What each prefix says (ostree-rs-ext, `container::OstreeImageReference`). */
const prefixes: readonly (readonly [RegExp, Verification])[] = [
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
