/** What can go wrong with a pull without a fault of the host's programs. */
export type PullTrouble = 'wrong-architecture' | 'no-room' | 'registry-unreachable' | 'pull-cut';

/** What a program that pulls an operating system said when it failed. */
export interface PullComplaint {
  readonly trouble: PullTrouble | undefined;
  /** The innermost of the causes that it counts up, which says most; undefined where it counts up none. */
  readonly cause: string | undefined;
}

/**
 * Sentences of ostree-rs-ext (0.15), which bootc, rpm-ostree and `ostree container` share, and of the skopeo behind
 * it. The first that is found counts: a registry that is gone is said beside the pull that it cut.
 */
const sentences: readonly (readonly [PullTrouble, RegExp])[] = [
  ['wrong-architecture', /Image has architecture|no image found in .* for architecture/],
  ['no-room', /min-free-space-(percent|size) .* would be exceeded|No space left on device/],
  [
    'registry-unreachable',
    /connection refused|no route to host|network is unreachable|no such host|i\/o timeout/,
  ],
  ['pull-cut', /unexpected EOF|connection reset|incomplete deflate stream|unexpected end of file/],
];

const troubleIn = (text: string): PullTrouble | undefined =>
  sentences.find(([, pattern]) => pattern.test(text))?.[0];

/** Reads the standard error of such a program. */
export function readPullComplaint(stderr: string): PullComplaint {
  const causes = [...stderr.matchAll(/^ +\d+: (.+)$/gm)].map(([, text]) => text ?? '');
  const telling = causes.find((text) => troubleIn(text) !== undefined);
  return { trouble: troubleIn(stderr), cause: telling ?? causes.at(-1) };
}
