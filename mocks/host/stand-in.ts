import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

const folder = join(import.meta.dirname, '..', 'bin');

/** The program that stands in, by the language it is written in. */
export type StandInLanguage = 'perl' | 'node';

/**
 * Puts the stand-in nsenter into a folder, with the socket of its host written inside: the agent
 * gives its children a clean environment. In Perl, where there is one, it starts in a third of
 * the time.
 */
export async function placeStandIn(
  into: string,
  socketPath: string,
  language: StandInLanguage = findProgram('perl') === undefined ? 'node' : 'perl',
): Promise<void> {
  await mkdir(into, { recursive: true });
  const program = language === 'perl' ? await inPerl(socketPath) : inNode(socketPath);
  await writeFile(join(into, 'nsenter'), program, { mode: 0o755 });
}

async function inPerl(socketPath: string): Promise<string> {
  const source = await readFile(join(folder, 'nsenter.pl'), 'utf8');
  return source
    .replace(/^#!.*\n/, `#!${findProgram('perl') ?? '/usr/bin/perl'}\n`)
    .replace('@SOCKET@', socketPath);
}

const inNode = (socketPath: string): string =>
  `#!/bin/sh\nexec '${process.execPath}' '${join(folder, 'nsenter.ts')}' '${socketPath}' "$@"\n`;

function findProgram(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((one) => join(one, name)).find((path) => existsSync(path));
}
