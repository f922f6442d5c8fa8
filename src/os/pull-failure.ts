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
 * Error messages of ostree-rs-ext (0.15), which bootc, rpm-ostree and `ostree container` share, of
 * skopeo, buildah and podman, and in a build of curl, dnf and librepo. The first match counts: a
 * registry that refuses has answered, and the message of an unreachable registry appears next to
 * the message of the interrupted pull.
 */
const sentences: readonly (readonly [PullErrorKind, RegExp])[] = [
  ['wrong-architecture', /Image has architecture|no image found in .{0,500} for architecture/],
  ['no-room', /min-free-space-(percent|size) .{0,200} would be exceeded|no space left on device/i],
  ['not-authorized', /unauthorized|authentication required|invalid username\/password/i],
  ['not-authorized', /(?<!permission )denied: |access (?:to .{0,100} is )?denied/i],
  ['not-authorized', /\b40[13] (?:Unauthorized|Forbidden)\b/i],
  ['not-found', /manifest unknown|name unknown|not found: manifest|\b404 Not Found\b/i],
  ['registry-unreachable', /connection (?:refused|timed out)|network is unreachable/i],
  ['registry-unreachable', /(?:dial|read|write) tcp.{0,500}(?:timeout|refused|unreachable)/i],
  ['registry-unreachable', /no (?:such host|route to host)/i],
  [
    'registry-unreachable',
    /(?:i\/o|TLS handshake|Client\.Timeout|context deadline) (?:timeout|exceeded)/i,
  ],
  ['registry-unreachable', /temporary failure in name resolution|could not resolve host/i],
  ['registry-unreachable', /curl error \(?(?:6|7|18|28|35|52|56|92)\)?/i],
  ['registry-unreachable', /\b(?:429 Too Many Requests|toomanyrequests)\b/i],
  ['registry-unreachable', /\b(?:50[0234] [A-Z]|(?:status|code|HTTP)[ :]+50[0234])\b/i],
  ['registry-unreachable', /received unexpected HTTP status: 5\d\d/i],
  ['pull-cut', /unexpected EOF|: EOF\b|connection reset|broken pipe/i],
  ['pull-cut', /server closed idle connection|use of closed network connection/i],
  ['pull-cut', /incomplete deflate stream|unexpected end of file/],
];

/** Classifies a failure by the standard error of a program; undefined for any other cause. */
export const classifyPullError = (stderr: string): PullErrorKind | undefined =>
  sentences.find(([, pattern]) => pattern.test(stderr))?.[0];

/** Whether a later attempt may succeed without a change of the image, the host or the registry. */
export const isNetworkFailure = (kind: PullErrorKind | undefined): boolean =>
  kind === 'registry-unreachable' || kind === 'pull-cut';

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
  const known = causes.find((text) => classifyPullError(text) !== undefined);
  const [, bound] = /^Error: unable to copy from source docker:\/\/(\S+?): /m.exec(stderr) ?? [];
  return {
    kind: classifyPullError(stderr),
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
