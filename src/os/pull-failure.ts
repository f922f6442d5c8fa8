/** Kinds of pull failures that are not a fault of the programs on the host. */
export type PullErrorKind =
  | 'wrong-architecture'
  | 'no-room'
  | 'not-authorized'
  | 'not-found'
  | 'registry-unreachable'
  | 'pull-cut';

/** The error message of a program that failed to pull an operating system image. */
interface PullError {
  readonly kind: PullErrorKind | undefined;
  /**
   * The innermost cause, which is the most specific one; undefined if the message has no chain of
   * causes.
   */
  readonly cause: string | undefined;
  /** The image that failed, if it is bound to the operating system. */
  readonly bound?: string;
}

/**
 * Error messages of ostree-rs-ext (0.15), which bootc, rpm-ostree and `ostree container` share, and
 * of the skopeo that it runs. The first match counts: the message of an unreachable registry
 * appears next to the message of the interrupted pull.
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
 * The prefixes of bootc and rpm-ostree before the cause, `Switching: Switching (ostree): Pulling:
 * `.
 */
const steps = /^(?:(?:[A-Z][\w ()-]*|failed to invoke method \w+): )+/;

/**
 * The causes in an error message: `ostree container` numbers them, the other programs print `error:
 * A: B: C`, and podman `Error: A: B`.
 */
function causesIn(stderr: string): readonly string[] {
  const counted = [...stderr.matchAll(/^ +\d+: (.+)$/gm)].map(([, text = '']) => text);
  if (counted.length > 0) return counted;
  const lines = [...stderr.matchAll(/^error: (.+)$/gim)].map(([, text = '']) => text);
  return lines.map((line) => line.replace(steps, ''));
}

/** Reads the standard error of a program that pulls. */
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
 * The program that updates the host automatically, as rpm-ostree names it when it refuses a change;
 * undefined if the message names no update driver.
 */
export const updateDriverIn = (stderr: string): string | undefined =>
  /Updates and deployments are driven by (.+)$/m.exec(stderr)?.[1];
