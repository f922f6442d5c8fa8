import * as z from 'zod';
import { StatusDocument } from './status.ts';

const v = z.literal(1).describe('version of this form');
const text = z.string().describe('empty where unknown');
const word = z.string();

/** As far as a date can be (ECMA-262, time values). */
const instant = z.number().min(0).max(8.64e15).describe('milliseconds since 1970');

/**
 * What a bundle of logs says of itself: its first file. A field is never removed within one
 * version.
 */
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
  restart: StatusDocument.shape.restart,
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

/** What `logs read --format json` prints. */
export const BundleDocument = BundleManifest.extend({
  missing: z.array(z.object({ name: word, why: word })).describe('files that are not whole'),
});
export type BundleDocument = z.infer<typeof BundleDocument>;

/** What `lint` prints with `--format json`. */
export const LintDocument = z.object({
  v,
  findings: z.array(
    z.object({
      file: z.string(),
      line: z.int().min(1).optional(),
      severity: z.enum(['error', 'warning']),
      rule: z.string().optional(),
      message: z.string(),
    }),
  ),
});
export type LintDocument = z.infer<typeof LintDocument>;

/** What `version --format json` prints. */
export const VersionDocument = z.object({
  v,
  version: word,
  commit: word.describe(
    'of the program, with -dirty where a clone has changed; empty where unknown',
  ),
  node: word.describe('version of Node, 24.11.0'),
  openshift: z
    .object({ first: word, last: word })
    .describe('the oldest and the newest release that are supported, 4.14'),
});
export type VersionDocument = z.infer<typeof VersionDocument>;

/** What `wipe --format json` prints. */
export const WipeDocument = z.object({
  v,
  disk: z.string(),
  serial: text,
  wwn: text,
  bytes: z.int(),
  method: z.enum(['nvme-sanitize', 'nvme-format', 'secure-discard', 'zeros']),
  isSecure: z
    .boolean()
    .describe('whether the disk has erased what it keeps out of reach of the host too'),
  says: z.string().describe('what is true of the disk now'),
});
export type WipeDocument = z.infer<typeof WipeDocument>;
