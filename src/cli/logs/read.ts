import { readdir } from 'node:fs/promises';
import { join } from 'node:path/posix';
import { readBundle } from '../../adapters/bundle-file.ts';
import { ownOrHost } from '../../adapters/host-root.ts';
import { renderWait } from '../../engine/run-steps.ts';
import { jsonIn } from '../../lib/json.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { renderDuration } from '../../model/duration.ts';
import type { FilesCall } from '../command.ts';
import { type BundleDocument, BundleManifest } from '../documents.ts';
import { cliFailure } from '../failures.ts';
import { print, printJson, printNote } from '../messages.ts';
import { isKnownToService } from '../../model/reset.ts';
import { restartLines } from '../status.ts';
import { type LogDocument, readLog, renderLog } from './read-log.ts';

/** The name of the manifest file. */
export const manifestFile = 'manifest.json';

/**
 * Prints a summary of log bundles and of bare logs, with at most thirteen lines for each. A folder
 * means all bundles in it; a folder without one is a warning if there are others. For programs,
 * several bundles are a list.
 * @throws AgentError `cli.bundle-not-read`
 */
export async function runLogsRead({ values, format }: FilesCall): Promise<number> {
  const [path = '', ...more] = values;
  const found = await Promise.all(
    values.map(async (value) => [value, await bundlesAt(value)] as const),
  );
  const empty = found.filter(([, bundles]) => bundles.length === 0).map(([folder]) => folder);
  if (empty.length === found.length)
    throw cliFailure('cli.bundle-not-read', `no bundle of logs in ${empty.join(', ')}`);
  for (const folder of empty) printNote('warning', `${folder} has no bundle of logs`);
  const paths = found.flatMap(([, bundles]) => bundles);
  const isOne = more.length === 0 && paths.length === 1 && paths[0] === path;
  const documents: (BundleDocument | LogDocument)[] = [];
  // One after another: a bundle may take 64 MiB of memory.
  for (const one of paths) documents.push(await documentOf(one));
  if (format === 'json')
    printJson(isOne ? documents[0] : documents.map((one, at) => ({ path: paths[at], ...one })));
  else if (isOne) print(documents.map(rendered).join(''));
  else print(documents.map((one, at) => `${paths[at] ?? ''}:\n${rendered(one)}`).join('\n'));
  return 0;
}

const rendered = (document: BundleDocument | LogDocument): string =>
  'files' in document ? renderBundle(document) : renderLog(document);

/** The bundles in a folder, the oldest first; any other path is a bundle itself. */
async function bundlesAt(path: string): Promise<readonly string[]> {
  const names = await ownOrHost(path)
    .then((at) => readdir(at))
    .catch(() => undefined);
  if (names === undefined) return [path];
  return names
    .filter((name) => /^(?:(?:bundle|logs)-.*|controller[-_]logs)\.tar\.gz$/.test(name))
    .sort()
    .map((name) => join(path, name));
}

/** A bundle by its manifest; an archive of the controller, or a log itself, by its lines. */
async function documentOf(path: string): Promise<BundleDocument | LogDocument> {
  const files = await readBundle(path).catch((cause: unknown) => {
    throw cliFailure('cli.bundle-not-read', `${path} cannot be read`, { cause });
  });
  const manifest = BundleManifest.safeParse(jsonIn(files.get(manifestFile) ?? '')).data;
  if (manifest !== undefined) return { ...manifest, missing: missingIn(manifest, files) };
  for (const text of files.values()) {
    const log = readLog(text);
    if (log !== undefined) return log;
  }
  const what = `${path} has no ${manifestFile} that is known, and no log of Bootwright`;
  throw cliFailure('cli.bundle-not-read', what);
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

/** Maximum length of a line for people. */
const longestLine = 600;

/** Whether the service has heard of the failure of the run. */
const isRefused = ({ host, failure }: BundleManifest): boolean =>
  host !== '' && failure !== undefined && isKnownToService(failure.code);

/** A bundle for people. */
export function renderBundle({ missing, ...bundle }: BundleDocument): string {
  const { role, version, cluster, run, ended, step, wait, restart, files, failure } = bundle;
  const host = [bundle.hostname, bundle.host].filter(Boolean).join(' ');
  const ids = Object.entries({ host, cluster, run }).filter(([, id]) => id !== '');
  const cut = files.filter(({ bytes = 0, of = 0 }) => of > bytes);
  const [first = '', ...next] = restartLines(restart, isRefused(bundle));
  const lines = [
    [`${role}, bootwright ${version}`, ...ids.map((id) => id.join(' '))].join(', '),
    ...endLines(bundle),
    step === undefined
      ? 'in no step'
      : `in ${step.id}, ${step.title}, since ${date(step.since)}, attempt ${step.attempts}`,
    ...(wait === undefined
      ? []
      : [`${wait.step} ${renderWait(wait, ended - wait.since, 'was waiting')}`]),
    ...(failure === undefined ? [] : [`next: ${failure.hint}`]),
    [first, next.map((line) => line.trim()).join('; ')].join(' '),
    `in the bundle: ${files.length - missing.length} of ${files.length} files`,
    ...(missing.length === 0
      ? []
      : [`not in it: ${missing.map(({ name, why }) => `${name} (${why})`).join(', ')}`]),
    ...(cut.length === 0 ? [] : [`only the end of: ${cut.map(({ name }) => name).join(', ')}`]),
  ];
  return lines.map((line) => `${plainLine(line, longestLine)}\n`).join('');
}

const date = (at: number): string => new Date(at).toISOString();
const span = (from: number, to: number): string => renderDuration(Math.max(0, to - from));

function endLines({ failure, state = '', since, ended }: BundleManifest): readonly string[] {
  if (failure === undefined) return [`collected ${date(ended)}: ${state}`];
  const after = since === undefined ? '' : `, ${span(since, ended)} after its begin`;
  return [
    `failed ${date(ended)}${after}`,
    `${failure.code}: ${failure.message}`,
    ...(failure.why === undefined ? [] : [`why: ${failure.why}`]),
  ];
}
