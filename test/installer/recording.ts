import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '..', '..', 'mocks', 'logs', 'coreos-installer');
const progress = /^Read (\S+) [\d.]+ [KMGT]?i?B\/[\d.]+ [KMGT]?i?B \(\d{1,3}%\)$/;

/** Names that differ from run to run, and what stands for them in a recording. */
export type Stands = Readonly<Record<string, string>>;

/**
 * The recorded output of that name, and the fresh one in the same terms, both without the lines that tell
 * progress, whose number and figures are never twice the same. With BOOTWRIGHT_RECORD=1 the recording is
 * first replaced by what was just said.
 */
export function compareWithRecording(name: string, said: string, stands: Stands) {
  const path = join(folder, `${name}.txt`);
  const fresh = replaceAll(said, stands);
  if (process.env['BOOTWRIGHT_RECORD'] !== undefined) writeFileSync(path, fresh);
  return { recorded: withoutProgress(readFileSync(path, 'utf8')), fresh: withoutProgress(fresh) };
}

/** The lines that tell progress. */
export function progressLines(said: string): string[] {
  return said.split('\n').filter((line) => progress.test(line));
}

function withoutProgress(said: string): string[] {
  return said.split('\n').filter((line) => !progress.test(line));
}

function replaceAll(said: string, stands: Stands): string {
  return Object.entries(stands).reduce((text, [real, stand]) => text.replaceAll(real, stand), said);
}
