import { exitCodes } from '../../model/failure.ts';
import { lintFile } from '../../layering/lint.ts';
import { readSource } from './read-source.ts';

/**
 * Prints what is wrong with the files, a line each; resolves with 2 when something must be corrected.
 * @throws AgentError `config.file-not-read`, `layering.malformed-file`, `layering.wrong-object`
 */
export async function runLayerLint(paths: readonly string[]): Promise<number> {
  const files = await Promise.all(paths.map(readSource));
  const findings = files.flatMap(lintFile);
  const lines = findings.map(
    ({ place, severity, message }) => `${place}: ${severity}: ${oneLine(message)}\n`,
  );
  if (lines.length > 0) process.stdout.write(lines.join(''));
  return findings.some(({ severity }) => severity === 'error') ? exitCodes.input : 0;
}

const oneLine = (text: string): string => text.replaceAll(/\s*[\r\n]+\s*/g, ' ');
