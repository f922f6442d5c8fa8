import * as z from 'zod';

const word = z.string();

/** Milliseconds since 1970, up to the largest date (ECMA-262, time values). */
const instant = z.number().min(0).max(8.64e15);

/** Effect of the next run with the same flags. */
const Restart = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('fresh') }),
  z.strictObject({ kind: z.literal('set-aside'), because: word }),
  z.strictObject({
    kind: z.literal('resume'),
    /** Number of steps that finished and are not run again. */
    reused: z.int(),
    next: z.array(z.object({ id: word, title: word })),
  }),
]);

/** The manifest of a log bundle: its first file. A field is never removed within one version. */
export const BundleManifest = z.object({
  v: z.literal(1),
  version: word,
  run: word,
  role: word,
  /** Ids of the host and the cluster; empty where none was given. */
  host: word,
  cluster: word,
  /** Name of the host; undefined if it has none, and in bundles of earlier versions. */
  hostname: word.optional(),
  /** Undefined for a run that did not begin. */
  since: instant.optional(),
  ended: instant,
  /** Undefined for logs that were collected on request. */
  failure: z
    .object({ code: word, kind: word, message: word, why: word.optional(), hint: word })
    .optional(),
  /** The state of the run when its logs were collected on request. */
  state: word.optional(),
  /** The step that the run failed by, or was at. */
  step: z.object({ id: word, title: word, since: instant, attempts: z.int() }).optional(),
  /** The last wait. */
  wait: z
    .object({
      step: word,
      sentence: word,
      status: word,
      attempt: z.int().optional(),
      since: instant,
      limit: z.number(),
    })
    .optional(),
  restart: Restart,
  files: z.array(
    z.object({
      name: word,
      what: word,
      /** Undefined for a missing file. */
      bytes: z.int().optional(),
      /** Number of bytes before the cut; the end of them is kept. */
      of: z.int().optional(),
      /** The reason why the file is missing. */
      missing: word.optional(),
    }),
  ),
});
export type BundleManifest = z.infer<typeof BundleManifest>;

/** Output of `logs read --format json`. */
export interface BundleDocument extends BundleManifest {
  /** Files that the bundle does not have whole. */
  readonly missing: readonly { readonly name: string; readonly why: string }[];
}
