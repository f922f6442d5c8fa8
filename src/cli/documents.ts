import * as z from 'zod';
import { OsStatus } from '../os/status.ts';
import { StatusDocument } from './status.ts';

const v = z.literal(1).describe('version of this form');
const text = z.string().describe('empty where unknown');
const word = z.string();
const problem = z.object({ code: z.string(), message: z.string(), hint: z.string() });

/** As far as a date can be (ECMA-262, time values). */
const instant = z.number().min(0).max(8.64e15).describe('milliseconds since 1970');

/** What a bundle of logs says of itself: its first file. A field is never removed within one version. */
export const BundleManifest = z.object({
  v,
  ...{ version: word, run: word, role: word },
  host: word.describe('id of the host; empty where none was given'),
  cluster: word.describe('id of the cluster; empty where none was given'),
  since: instant
    .optional()
    .describe('milliseconds since 1970; left out of a run that did not begin'),
  ended: instant,
  failure: z
    .object({ code: word, kind: word, message: word, hint: word })
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

/** What `ignition lint` and `layer lint` print with `--format json`. */
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
    .describe('the oldest and the newest release that can be installed, 4.6'),
});
export type VersionDocument = z.infer<typeof VersionDocument>;

/** What `wipe --format json` prints. */
export const WipeDocument = z.object({
  v,
  ...{ disk: z.string(), serial: text, wwn: text },
  bytes: z.int(),
  method: z.enum(['nvme-sanitize', 'nvme-format', 'secure-discard', 'zeros']),
  isSecure: z
    .boolean()
    .describe('whether the disk has erased what it keeps out of reach of the host too'),
  says: z.string().describe('what is true of the disk now'),
});
export type WipeDocument = z.infer<typeof WipeDocument>;

const build = z.object({ name: z.string(), phase: z.string() });

const pool = z.object({
  pool: z.string(),
  isLayered: z.boolean(),
  isPaused: z.boolean(),
  conditions: z.object({ updated: text, updating: text, degraded: text }),
  rendered: text.describe('the rendered MachineConfig'),
  pushSpec: text,
  build: build.describe('the current build'),
  image: text,
  runner: z.object({ by: text, why: z.string() }),
  origin: z
    .object({
      ...{ build: text, rendered: text, builtAt: text, reusedFrom: text },
      isOfInstallation: z.boolean(),
      generation: z.number(),
    })
    .optional(),
  nextBuild: z
    .object({ ...build.shape, since: text, isOver: z.boolean(), message: text, pod: text })
    .optional(),
  nodes: z.array(
    z.object({
      name: z.string(),
      state: text,
      currentImage: text,
      desiredImage: text,
      waitsFor: text.describe('empty for a node that is done'),
    }),
  ),
  violations: z.array(
    z.object({
      ...{ id: z.string(), title: z.string(), of: z.string() },
      ...{ expected: z.string(), found: text },
    }),
  ),
  actions: z.array(z.string()).describe('what a person has to do, one sentence each'),
});

const pushed = z.object({ digest: z.string(), pullSpec: z.string() });

/** The forms that commands print with `--format json`, by command. A field is never removed within one version. */
export const documents = {
  'config show': z
    .record(z.string(), z.object({ value: z.unknown(), origin: z.string() }))
    .describe('every setting by its name; secrets are masked'),
  'config validate': z.object({
    errors: z.array(problem.extend({ context: z.record(z.string(), z.unknown()) })),
    warnings: z.array(z.string()),
  }),
  journal: z.object({
    v,
    ...{ role: z.string(), version: z.string(), fingerprint: z.string(), bootId: z.string() },
    steps: z.array(
      z.object({
        step: z.string(),
        state: z.enum(['running', 'finished', 'failed', 'stopped']),
        attempts: z.int(),
        since: z.number().describe('milliseconds since 1970'),
        duration: z.number().optional().describe('milliseconds'),
        failure: z.string().optional(),
      }),
    ),
  }),
  'logs read': BundleDocument,
  media: z.object({
    v,
    ...{ out: z.string(), image: z.string(), role: z.string() },
    disks: z.string().describe('what a host loses that starts from it'),
    items: z
      .array(z.object({ path: z.string(), what: z.string(), isSecret: z.boolean() }))
      .describe('what is inside'),
    kernelArguments: z.array(z.string()).describe('to start an initramfs with; none for an ISO'),
  }),
  'ignition lint': LintDocument,
  'layer lint': LintDocument,
  'layer render': z.object({ v, files: z.array(z.string()) }),
  'layer name': z.object({ v, name: z.string() }),
  'layer build': z.object({
    v,
    name: z.string().describe('in the store of this machine'),
    pushed: pushed.optional(),
  }),
  'layer push': pushed.extend({ v }),
  'layer status': z.object({ pools: z.array(pool) }),
  'layer rollback': z.object({
    v,
    pool: z.string(),
    removesOsConfig: z.boolean(),
    orphans: z.array(z.string()).describe('MachineOSBuilds without an owner'),
    repositoryConfig: z.string().optional(),
    nodes: z.array(z.string()),
    notes: z.array(z.string()),
    isChanged: z.boolean().describe('false without --yes, and where there is nothing to do'),
  }),
  'node status': z
    .object({
      driver: z.string(),
      reason: z.string(),
      kernelArguments: z.array(z.string()),
      ...OsStatus.shape,
    })
    .describe('of `node apply` and `node rollback` too'),
  version: VersionDocument,
  wipe: WipeDocument,
} as const satisfies Readonly<Record<string, z.ZodType>>;

/** JSON Schema (draft 2020-12) of those forms, one under `$defs` for each command. */
export const outputJsonSchema = (): Readonly<Record<string, unknown>> => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'urn:bootwright:output',
  title: 'What commands of Bootwright print with --format json',
  $defs: Object.fromEntries(
    Object.entries(documents).map(([name, form]) => {
      const { $schema: _, ...schema } = z.toJSONSchema(form, { io: 'input' });
      return [name.replaceAll(' ', '-'), schema];
    }),
  ),
});
