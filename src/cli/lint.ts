import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readFileOf } from '../adapters/file-access.ts';
import { ownOrHost } from '../adapters/host-root.ts';
import type { LintFinding } from '../layering/api/source-object.ts';
import { type LintedFile, lintMachineConfigs } from '../layering/manifests/lint-machine-config.ts';
import { plainLine } from '../lib/plain-text.ts';
import { exitCodes } from '../model/failure.ts';
import type { FilesCall } from './command.ts';
import { print, printJson } from './messages.ts';

/**
 * Checks MachineConfigs, MachineOSConfigs and Ignition configs in files and folders. Resolves with
 * 2 if a finding is an error, else with 0.
 */
export async function runLint(call: FilesCall): Promise<number> {
  const unread: LintFinding[] = [];
  const files: LintedFile[] = [];
  for (const named of call.values) {
    const inside = await filesWithin(named);
    for (const path of inside ?? [named]) {
      const read = await readLinted(path);
      if ('place' in read) unread.push(read);
      else files.push({ path, bytes: read, isInFolder: inside !== undefined });
    }
  }
  return printFindings([...unread, ...lintMachineConfigs(files)], call);
}

/**
 * Files in a folder and its subfolders that may hold objects; undefined if the path is not a
 * folder. Lists each file once, however many links lead to it: a link to a parent folder would have
 * no end.
 */
async function filesWithin(
  path: string,
  seen = new Set<string>(),
): Promise<readonly string[] | undefined> {
  const names = await readdir(path).catch(() => undefined);
  if (names === undefined || !isNew(await realpath(path), seen)) return names && [];
  const found: string[] = [];
  const folders: string[] = [];
  for (const name of names.toSorted()) {
    const at = join(path, name);
    const kind = await kindOf(at);
    if (kind === 'folder') folders.push(at);
    const isMeant = kind === 'file' && /\.(?:ya?ml|json|ign)$/.test(name);
    if (isMeant && isNew(await realpath(at).catch(() => at), seen)) found.push(at);
  }
  for (const at of folders) found.push(...((await filesWithin(at, seen)) ?? [at]));
  return found;
}

/**
 * Kind of a path. Reading a pipe might not end. A missing path counts as a file: reading it reports
 * that it is missing.
 */
async function kindOf(path: string): Promise<'folder' | 'file' | 'other'> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return 'folder';
  return found?.isFile() === false ? 'other' : 'file';
}

function isNew(path: string, seen: Set<string>): boolean {
  const isKnown = seen.has(path);
  seen.add(path);
  return !isKnown;
}

function printFindings(findings: readonly LintFinding[], { format }: FilesCall): number {
  if (format === 'text') print(findings.map(lineOf).join(''));
  // A field is never removed within one version.
  else
    printJson({
      v: 1,
      findings: findings.map(({ place, ...finding }) => ({ ...splitPlace(place), ...finding })),
    });
  return findings.some(({ severity }) => severity === 'error') ? exitCodes.input : 0;
}

const lineOf = ({ place, severity, message }: LintFinding): string =>
  `${plainLine(`${place}: ${severity}: ${message}`)}\n`;

/** Splits a place into its file and its line; a file that was not read has no line. */
function splitPlace(place: string): { readonly file: string; readonly line?: number } {
  const [, file, line] = /^(.*):(\d+)$/s.exec(place) ?? [];
  return file === undefined ? { file: place } : { file, line: Number(line) };
}

/** The bytes of a file, or a finding with the reason why it cannot be read. */
async function readLinted(path: string): Promise<Uint8Array | LintFinding> {
  try {
    return await readFileOf({ at: await ownOrHost(path), path, kind: 'manifests' });
  } catch (error) {
    return { place: path, severity: 'error', message: `cannot be read: ${reasonNotRead(error)}` };
  }
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EISDIR: 'it is a directory',
  ENOENT: 'no such file',
  ENOTDIR: 'a part of its path is not a directory',
};

/** The reason why a file could not be read, in a few words. */
function reasonNotRead(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return reasons[code] ?? (error instanceof Error ? error.message : String(error));
}
