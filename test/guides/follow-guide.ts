import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { bundlePath } from '../../scripts/bundle.ts';
import { type Block, blocksOf, isShown, shownIn } from './guide.ts';

const top = join(import.meta.dirname, '../..');

/** Where the guides are. */
export const guidesFolder = join(top, 'docs/guides');

/** The files and names of a reader, and the shell. */
interface Scene {
  /** Files beside the guide's own, by name. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** The suite that the blocks name; by default, blocks without a suite are run. */
  readonly suite?: string;
  /** The reader's names and addresses, by those of the guide. */
  readonly instead?: Readonly<Record<string, string>>;
  /** The command to which a block is given as its last word. */
  readonly shell?: readonly string[];
}

/**
 * Follows a guide to its end in its own folder: writes its files, runs its commands, and compares
 * their output with the guide. The built program is on PATH as `bootwright`;
 * scripts of the tree are where they are in the tree.
 * @param name its path from the folder of the guides
 * @param environment variables that the guide expects; its PATH comes after the program
 * @returns the output of its last commands
 * @throws AssertionError with the line of the guide
 */
export async function followGuide(
  name: string,
  environment: Readonly<Record<string, string>>,
  { files = {}, shell = ['sh', '-eu', '-c'], ...scene }: Scene = {},
): Promise<string> {
  const blocks = await blocksFor(name, scene);
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-guide-'));
  try {
    await writeProgram(join(folder, 'bin/bootwright'), `${process.execPath} ${bundlePath}`);
    for (const script of ['scripts/bootwright', 'scripts/lab'])
      await writeProgram(join(folder, script), join(top, script));
    for (const [path, content] of Object.entries(files)) await write(join(folder, path), content);
    const PATH = `${join(folder, 'bin')}:${environment['PATH'] ?? process.env['PATH'] ?? ''}`;
    let printed = '';
    for (const block of blocks) {
      if (block.kind === 'file') await write(join(folder, block.path), block.text);
      else if (block.kind === 'output') expectShown(`${name}:${block.line}`, block.text, printed);
      else if (block.kind === 'run')
        printed = await run(block, {
          name,
          folder,
          shell,
          env: { HOME: homedir(), TMPDIR: folder, ...environment, PATH },
        });
    }
    return printed;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * A part that a page only shows, for a test that uses it otherwise: the command, or the block without
 * commands, that is this text or alone begins so. `blocks.test.ts` finds the calls by their words.
 * @param page its path from the top of the tree
 * @throws RangeError where none does, or several do
 */
export function shownOn(page: string, begin: string): string {
  const begun = shownIn(readFileSync(join(top, page), 'utf8')).filter(({ text }) =>
    text.trimStart().startsWith(begin),
  );
  const whole = begun.filter(({ text }) => text === begin);
  const [found, ...others] = whole.length > 0 ? whole : begun;
  if (found === undefined || others.length > 0)
    throw new RangeError(`${page} shows not exactly one that begins with ${begin}`);
  return found.text;
}

/** The blocks of a guide that a suite uses, with the reader's names. */
async function blocksFor(
  name: string,
  { suite = '', instead = {} }: Pick<Scene, 'suite' | 'instead'>,
): Promise<readonly Block[]> {
  const blocks = blocksOf(await readFile(join(guidesFolder, name), 'utf8')).filter(
    (block) => block.kind === 'file' || block.suite === suite,
  );
  expect(blocks.map(({ kind }) => kind)).toContain('run');
  const replaced = (text: string): string =>
    Object.entries(instead).reduce((all, [known, own]) => all.replaceAll(known, own), text);
  return blocks.map((block) => ({ ...block, text: replaced(block.text) }));
}

async function write(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}

/** A program that is another one. */
async function writeProgram(path: string, command: string): Promise<void> {
  await write(path, `#!/bin/sh\nexec ${command} "$@"\n`);
  await chmod(path, 0o755);
}

function expectShown(where: string, shown: string, printed: string): void {
  // The comparison of texts is there for its message.
  if (!isShown(shown, printed)) expect(printed, where).toBe(shown);
}

interface Site {
  readonly name: string;
  readonly folder: string;
  readonly shell: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Runs the commands of a block in a shell; resolves with what they print. */
async function run(block: Block, { name, folder, shell, env }: Site): Promise<string> {
  const script = `exec 2>&1\n${block.text}`;
  const [program = '', ...words] = shell;
  const child = spawn(program, [...words, script], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = text(child.stdout);
  const [exitCode] = (await once(child, 'close')) as [number | null];
  const printed = await output;
  expect(exitCode, `${name}:${block.line} printed:\n${printed}`).toBe(block.exitCode);
  // A busy machine makes a command say that it still waits.
  return printed.replaceAll(/^waiting for .* so far\n/gm, '');
}
