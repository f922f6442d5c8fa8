import * as z from 'zod';

const v = z.literal(1).describe('version of this form');
const word = z.string();

/** The largest date (ECMA-262, time values). */
const instant = z.number().min(0).max(8.64e15).describe('milliseconds since 1970');

/** Effect of the next run with the same flags. */
const Restart = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('fresh') }),
  z.strictObject({ kind: z.literal('set-aside'), because: word }),
  z.strictObject({
    kind: z.literal('resume'),
    reused: z.int().describe('steps that finished and are not run again'),
    next: z.array(z.object({ id: word, title: word })),
  }),
]);

/** The manifest of a log bundle: its first file. A field is never removed within one version. */
export const BundleManifest = z.object({
  v,
  version: word,
  run: word,
  role: word,
  host: word.describe('id of the host; empty where none was given'),
  cluster: word.describe('id of the cluster; empty where none was given'),
  since: instant
    .optional()
    .describe('milliseconds since 1970; left out of a run that did not begin'),
  ended: instant,
  failure: z
    .object({ code: word, kind: word, message: word, why: word.optional(), hint: word })
    .optional()
    .describe('left out of logs that were collected on request'),
  state: word.optional().describe('of logs that were collected on request: how the run stood then'),
  step: z
    .object({ id: word, title: word, since: instant, attempts: z.int() })
    .optional()
    .describe('the step that the run failed by, or was at'),
  wait: z
    .object({ step: word, sentence: word, status: word, since: instant, limit: z.number() })
    .optional()
    .describe('what was waited for last'),
  restart: Restart,
  files: z.array(
    z.object({
      name: word,
      what: word,
      bytes: z.int().optional().describe('left out of a file that is not there'),
      of: z.int().optional().describe('bytes that there were; the end of them is kept'),
      missing: word.optional().describe('why it is not there'),
    }),
  ),
});
export type BundleManifest = z.infer<typeof BundleManifest>;

/** Output of `logs read --format json`. */
export interface BundleDocument extends BundleManifest {
  /** Files that the bundle does not have whole. */
  readonly missing: readonly { readonly name: string; readonly why: string }[];
}
