/** What can go wrong with a pull without a fault of the host's programs. */
export type PullErrorKind =
  | 'wrong-architecture'
  | 'no-room'
  | 'not-authorized'
  | 'not-found'
  | 'registry-unreachable'
  | 'pull-cut';

/** What a program that pulls an operating system said when it failed. */
interface PullError {
  readonly kind: PullErrorKind | undefined;
  /**
   * The innermost of the causes that it counts up, which says most; undefined where it counts up
   * none.
   */
  readonly cause: string | undefined;
  /**
   * The image that could not be pulled, where that is one that is bound to the operating system.
   */
  readonly bound?: string;
}

/**
 * Sentences of ostree-rs-ext (0.15), which bootc, rpm-ostree and `ostree container` share, and of
 * the skopeo behind it. The first that is found counts: a registry that is gone is said beside the
 * pull that it cut.
 */
const sentences: readonly (readonly [PullErrorKind, RegExp])[] = [
  ['wrong-architecture', /Image has architecture|no image found in .{0,500} for architecture/],
  ['no-room', /min-free-space-(percent|size) .{0,200} would be exceeded|No space left on device/],
  [
    'registry-unreachable',
    /connection refused|no route to host|network is unreachable|no such host|i\/o timeout/,
  ],
  ['not-authorized', /authentication required|unauthorized|requested access .{0,100} is denied/],
  ['not-found', /manifest unknown|name unknown/],
  ['pull-cut', /unexpected EOF|connection reset|incomplete deflate stream|unexpected end of file/],
];

const kindOf = (text: string): PullErrorKind | undefined =>
  sentences.find(([, pattern]) => pattern.test(text))?.[0];

/**
 * The steps that bootc and rpm-ostree put before the cause, `Switching: Switching (ostree):
 * Pulling: `.
 */
const steps = /^(?:(?:[A-Z][\w ()-]*|failed to invoke method \w+): )+/;

/**
 * The line that says why: `ostree container` counts causes up, the others print `error: A: B: C`,
 * and podman `Error: A: B`.
 */
function causesIn(stderr: string): readonly string[] {
  const counted = [...stderr.matchAll(/^ +\d+: (.+)$/gm)].map(([, text = '']) => text);
  if (counted.length > 0) return counted;
  const lines = [...stderr.matchAll(/^error: (.+)$/gim)].map(([, text = '']) => text);
  return lines.map((line) => line.replace(steps, ''));
}

/** Reads the standard error of such a program. */
export function readPullError(stderr: string): PullError {
  const causes = causesIn(stderr);
  const known = causes.find((text) => kindOf(text) !== undefined);
  const [, bound] = /^Error: unable to copy from source docker:\/\/(\S+?): /m.exec(stderr) ?? [];
  return {
    kind: kindOf(stderr),
    cause: known ?? causes.at(-1),
    ...(bound === undefined ? {} : { bound }),
  };
}

/**
 * Who changes the system of a host by itself, as rpm-ostree says when it refuses; undefined where
 * it says no such thing.
 */
export const updateDriverIn = (stderr: string): string | undefined =>
  /Updates and deployments are driven by (.+)$/m.exec(stderr)?.[1];
