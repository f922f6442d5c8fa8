import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { bundlePath } from '../../scripts/bundle.ts';
import { type Block, blocksOf, isShown } from './guide.ts';

const top = join(import.meta.dirname, '../..');

/** Where the guides are. */
export const guidesFolder = join(top, 'docs/guides');

/**
 * Follows a guide to its end, in a folder of its own: writes its files, runs its commands, and compares what they print with
 * what it shows. The built program is on PATH as `bootwright`; scripts of the tree are where they are in the tree.
 * @param environment what the guide takes as set; its PATH comes behind the program
 * @param files what the reader is said to have beside the guide's own, by name
 * @throws AssertionError with the line of the guide
 */
export async function followGuide(
  name: string,
  environment: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string | Uint8Array>> = {},
): Promise<void> {
  const blocks = blocksOf(await readFile(join(guidesFolder, name), 'utf8'));
  expect(blocks.map(({ kind }) => kind)).toContain('run');
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
      else
        printed = await run(block, {
          name,
          folder,
          env: { HOME: homedir(), TMPDIR: folder, ...environment, PATH },
        });
    }
  } finally {
    await rm(folder, { recursive: true });
  }
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
  readonly env: Readonly<Record<string, string>>;
}

/** Runs the commands of a block in a shell; resolves with what they print. */
async function run(block: Block, { name, folder, env }: Site): Promise<string> {
  const script = `exec 2>&1\n${block.text}`;
  const child = spawn('sh', ['-eu', '-c', script], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = text(child.stdout);
  const [exitCode] = (await once(child, 'close')) as [number | null];
  const printed = await output;
  expect(exitCode, `${name}:${block.line} printed:\n${printed}`).toBe(block.exitCode);
  return printed;
}
