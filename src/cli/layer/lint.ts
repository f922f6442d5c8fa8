import { readFileOf } from '../../adapters/file-access.ts';
import { lintBytes, type LintFinding } from '../../layering/lint.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { exitCodes } from '../../model/failure.ts';
import { print } from '../messages.ts';

/** Prints the findings of the files, a line each; resolves with 2 when one is an error, else with 0. */
export async function runLayerLint(paths: readonly string[]): Promise<number> {
  const findings: LintFinding[] = [];
  for (const path of paths) findings.push(...(await findingsIn(path)));
  const lines = findings.map(
    ({ place, severity, message }) => `${plainLine(`${place}: ${severity}: ${message}`)}\n`,
  );
  if (lines.length > 0) print(lines.join(''));
  return findings.some(({ severity }) => severity === 'error') ? exitCodes.input : 0;
}

async function findingsIn(path: string): Promise<readonly LintFinding[]> {
  let bytes: Uint8Array;
  try {
    bytes = await readFileOf({ at: path, kind: 'manifests' });
  } catch (error) {
    return [{ place: path, severity: 'error', message: `cannot be read: ${reasonNotRead(error)}` }];
  }
  return lintBytes(path, bytes);
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EISDIR: 'it is a directory',
  ENOENT: 'no such file',
  ENOTDIR: 'a part of its path is not a directory',
};

/** Why a file could not be read, in a few words. */
function reasonNotRead(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return reasons[code] ?? (error instanceof Error ? error.message : String(error));
}
