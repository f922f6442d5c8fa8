import { readFileOf } from '../../adapters/file-access.ts';
import { lintBytes, type LintFinding } from '../../layering/build/lint.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { exitCodes } from '../../model/failure.ts';
import { version } from '../../model/version.ts';
import type { FilesCall } from '../command.ts';
import type { LintDocument } from '../documents.ts';
import { print, printJson } from '../messages.ts';

/** Prints the findings of the files; resolves with 2 when one is an error, else with 0. */
export async function runLayerLint({ values, format }: FilesCall): Promise<number> {
  const findings: LintFinding[] = [];
  for (const path of values) findings.push(...(await findingsIn(path)));
  if (format === 'text') print(findings.map(lineOf).join(''));
  else printJson(format === 'sarif' ? sarifOf(findings) : documentOf(findings));
  return findings.some(({ severity }) => severity === 'error') ? exitCodes.input : 0;
}

const lineOf = ({ place, severity, message }: LintFinding): string =>
  `${plainLine(`${place}: ${severity}: ${message}`)}\n`;

/** A place as its file and its line; a file that was not read has no line. */
function splitPlace(place: string): { readonly file: string; readonly line?: number } {
  const [, file, line] = /^(.*):(\d+)$/s.exec(place) ?? [];
  return file === undefined ? { file: place } : { file, line: Number(line) };
}

const documentOf = (findings: readonly LintFinding[]): LintDocument => ({
  v: 1,
  findings: findings.map(({ place, ...finding }) => ({ ...splitPlace(place), ...finding })),
});

/** The findings for services that show them beside the code: SARIF 2.1.0. */
export function sarifOf(findings: readonly LintFinding[]): unknown {
  const rules = [...new Set(findings.map(({ rule }) => rule ?? 'layering'))];
  const results = findings.map(({ place, severity, message, rule = 'layering' }) => {
    const { file, line } = splitPlace(place);
    const region = line === undefined ? {} : { region: { startLine: line } };
    const artifactLocation = { uri: uriOf(file) };
    return {
      ruleId: rule,
      ruleIndex: rules.indexOf(rule),
      level: severity,
      message: { text: message },
      locations: [{ physicalLocation: { artifactLocation, ...region } }],
    };
  });
  const driver = { name: 'bootwright layer lint', version, rules: rules.map((id) => ({ id })) };
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [{ tool: { driver }, columnKind: 'utf16CodeUnits', results }],
  };
}

/** A path as a reference of RFC 3986: relative ones stay so, to the root of the code. */
function uriOf(path: string): string {
  const escaped = path.split('/').map(encodeURIComponent).join('/');
  return path.startsWith('/') ? `file://${escaped}` : escaped;
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
