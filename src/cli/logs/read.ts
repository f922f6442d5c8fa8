import * as z from 'zod';
import { readBundle } from '../../adapters/bundle-file.ts';
import { jsonIn } from '../../lib/json.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { renderDuration } from '../../model/duration.ts';
import type { FilesCall } from '../command.ts';
import { cliFailure } from '../failures.ts';
import { print, printJson } from '../messages.ts';
import { restartLines, StatusDocument } from '../status.ts';

/** As far as a date can be (ECMA-262, time values). */
const instant = z.number().min(0).max(8.64e15).describe('milliseconds since 1970');
const text = z.string();

/** What a bundle of logs says of itself: its first file. A field is never removed within one version. */
export const BundleManifest = z.object({
  v: z.literal(1).describe('version of this form'),
  ...{ version: text, run: text, role: text },
  host: text.describe('id of the host; empty where none was given'),
  cluster: text.describe('id of the cluster; empty where none was given'),
  since: instant
    .optional()
    .describe('milliseconds since 1970; left out of a run that did not begin'),
  ended: instant,
  failure: z.object({ code: text, kind: text, message: text, hint: text }),
  step: z
    .object({ id: text, title: text, since: instant, attempts: z.int() })
    .optional()
    .describe('the step that the run failed by'),
  wait: z
    .object({ step: text, sentence: text, status: text, since: instant, limit: z.number() })
    .optional()
    .describe('what was waited for last'),
  restart: StatusDocument.shape.restart,
  files: z.array(
    z.object({
      name: text,
      what: text,
      bytes: z.int().optional().describe('left out of a file that is not there'),
      of: z.int().optional().describe('bytes that there were; the end of them is kept'),
      missing: text.optional().describe('why it is not there'),
    }),
  ),
});
export type BundleManifest = z.infer<typeof BundleManifest>;

/** The name of that file. */
export const manifestFile = 'manifest.json';

/** What `logs read --format json` prints. */
export const BundleDocument = BundleManifest.extend({
  missing: z.array(z.object({ name: text, why: text })).describe('files that are not whole'),
});
export type BundleDocument = z.infer<typeof BundleDocument>;

/**
 * Says what a bundle of logs says happened, in at most ten lines.
 * @throws AgentError `cli.bundle-not-read`
 */
export async function runLogsRead({ values: [path = ''], format }: FilesCall): Promise<number> {
  const files = await readBundle(path).catch((cause: unknown) => {
    throw cliFailure('cli.bundle-not-read', `${path} cannot be read`, { cause });
  });
  const manifest = BundleManifest.safeParse(jsonIn(files.get(manifestFile) ?? '')).data;
  if (manifest === undefined)
    throw cliFailure('cli.bundle-not-read', `${path} has no ${manifestFile} that is known`);
  const document = { ...manifest, missing: missingIn(manifest, files) };
  if (format === 'json') printJson(document);
  else print(renderBundle(document));
  return 0;
}

const missingIn = (
  manifest: BundleManifest,
  files: ReadonlyMap<string, string>,
): BundleDocument['missing'] =>
  manifest.files.flatMap(({ name, bytes = 0, missing }) => {
    const found = files.get(name);
    if (missing !== undefined) return [{ name, why: missing }];
    if (found === undefined) return [{ name, why: 'it is gone from the bundle' }];
    return Buffer.byteLength(found) === bytes ? [] : [{ name, why: 'it was changed' }];
  });

/** Characters of a line that a person reads. */
const longestLine = 600;

/** A bundle for people. */
export function renderBundle({ failure, missing, files, ...bundle }: BundleDocument): string {
  const { role, version, host, cluster, run, since, ended, step, wait, restart } = bundle;
  const date = (at: number): string => new Date(at).toISOString();
  const span = (from: number, to: number): string => renderDuration(Math.max(0, to - from));
  const ids = [
    ...(host === '' ? [] : [`host ${host}`]),
    ...(cluster === '' ? [] : [`cluster ${cluster}`]),
  ];
  const cut = files.filter(({ bytes = 0, of = 0 }) => of > bytes);
  const [first = '', ...next] = restartLines(restart);
  const lines = [
    [`${role}, bootwright ${version}`, ...ids, `run ${run}`].join(', '),
    `failed ${date(ended)}${since === undefined ? '' : `, ${span(since, ended)} after its begin`}`,
    `${failure.code}: ${failure.message}`,
    step === undefined
      ? 'in no step'
      : `in ${step.id}, ${step.title}, since ${date(step.since)}, attempt ${step.attempts}`,
    ...(wait === undefined
      ? []
      : [
          `${wait.step} waited last until ${wait.sentence}: ${wait.status}; for ${span(wait.since, ended)} of at most ${renderDuration(wait.limit)}`,
        ]),
    `next: ${failure.hint}`,
    [first, next.map((line) => line.trim()).join('; ')].join(' '),
    `in the bundle: ${files.length - missing.length} of ${files.length} files`,
    ...(missing.length === 0
      ? []
      : [`not in it: ${missing.map(({ name, why }) => `${name} (${why})`).join(', ')}`]),
    ...(cut.length === 0 ? [] : [`only the end of: ${cut.map(({ name }) => name).join(', ')}`]),
  ];
  return lines.map((line) => `${plainLine(line, longestLine)}\n`).join('');
}
