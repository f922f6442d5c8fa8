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
 * means all bundles and logs below it, one for each run; a folder without one is a warning if there
 * are others. For programs, several bundles are a list.
 * @throws AgentError `cli.bundle-not-read`
 */
export async function runLogsRead({ values, format }: FilesCall): Promise<number> {
  const [path = '', ...more] = values;
  const documents = new Map<string, BundleDocument | LogDocument>();
  const empty: string[] = [];
  for (const value of values) {
    const found = await bundlesBelow(value);
    const read =
      found === undefined ? [[value, await documentOf(value)] as const] : await documentsAt(found);
    if (read.length === 0) empty.push(value);
    for (const [at, document] of read) documents.set(at, document);
  }
  if (documents.size === 0)
    throw cliFailure('cli.bundle-not-read', `no bundle of logs below ${empty.join(', ')}`);
  for (const folder of empty) printNote('warning', `${folder} has no bundle of logs`);
  const all = [...documents];
  const only = more.length === 0 ? documents.get(path) : undefined;
  if (format === 'json') printJson(only ?? all.map(([at, one]) => ({ path: at, ...one })));
  else if (only !== undefined) print(rendered(only));
  else print(all.map(([at, one]) => `${at}:\n${rendered(one)}`).join('\n'));
  return 0;
}

const rendered = (document: BundleDocument | LogDocument): string =>
  'files' in document ? renderBundle(document) : renderLog(document);

/** Maximum number of files and folders that are searched; a root of a host has more. */
const mostSearched = 10_000;

const bundleName = /^(?:(?:bundle|logs)-.*|controller[-_]logs)\.tar\.gz$/;
const logName = /\.logs?$/;

/**
 * The bundles below a folder, then the logs, each in the order of their paths, where the oldest
 * bundle of a host is first; undefined for a path that is no folder. Links are not followed.
 */
async function bundlesBelow(path: string): Promise<readonly string[] | undefined> {
  const root = await ownOrHost(path);
  const found: string[] = [];
  const left = [''];
  let searched = 0;
  while (left.length > 0 && searched <= mostSearched) {
    const folder = left.shift() ?? '';
    const reading = readdir(join(root, folder), { withFileTypes: true });
    const entries = await reading.catch(() => undefined);
    if (folder === '' && entries === undefined) return undefined;
    for (const entry of entries ?? []) {
      searched += 1;
      const at = join(folder, entry.name);
      if (entry.isDirectory()) left.push(at);
      const isNamed = bundleName.test(entry.name) || logName.test(entry.name);
      if (entry.isFile() && isNamed) found.push(at);
    }
  }
  if (searched > mostSearched)
    printNote('warning', `${path} has more than ${mostSearched} files; not all were searched`);
  const isLog = (at: string): boolean => logName.test(at);
  found.sort();
  return [...found.filter((at) => !isLog(at)), ...found.filter(isLog)].map((at) => join(path, at));
}

/**
 * The documents of bundles and logs in a folder. A log is left out if the bundle of its run was
 * found; a host keeps its log beside what it prints.
 */
async function documentsAt(
  paths: readonly string[],
): Promise<readonly (readonly [string, BundleDocument | LogDocument])[]> {
  const documents: (readonly [string, BundleDocument | LogDocument])[] = [];
  const others: string[] = [];
  // One after another: a bundle may take 64 MiB of memory.
  for (const path of paths) {
    const document = await documentOf(path).catch((failure: unknown) => {
      if (!logName.test(path)) throw failure;
      return undefined;
    });
    if (document === undefined) {
      others.push(path);
      continue;
    }
    const { run } = document;
    const isKnown = run !== '' && documents.some(([, known]) => known.run === run);
    if ('files' in document || !isKnown) documents.push([path, document]);
  }
  if (others.length > 0) {
    const more = others.length > 3 ? `, and ${others.length - 3} more` : '';
    const named = `${others.slice(0, 3).join(', ')}${more}`;
    printNote('note', `left out, as they cannot be read as logs of Bootwright: ${named}`);
  }
  return documents;
}

/** A manifest of fifty files has some 10 KiB. Of a million mistakes, the parser overflows. */
const longestManifest = 256 * 1024;

/** A bundle by its manifest; an archive of the controller, or a log itself, by its lines. */
async function documentOf(path: string): Promise<BundleDocument | LogDocument> {
  const files = await readBundle(path).catch((cause: unknown) => {
    throw cliFailure('cli.bundle-not-read', `${path} cannot be read`, { cause });
  });
  const text = files.get(manifestFile)?.slice(0, longestManifest) ?? '';
  const manifest = BundleManifest.safeParse(jsonIn(text)).data;
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
  const after = since === undefined ? '' : `, ${span(since, ended)} after its start`;
  return [
    `failed ${date(ended)}${after}`,
    `${failure.code}: ${failure.message}`,
    ...(failure.why === undefined ? [] : [`why: ${failure.why}`]),
  ];
}
