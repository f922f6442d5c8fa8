import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ensureBundle } from '../../scripts/bundle.ts';

const execute = promisify(execFile);

/** How one run of the program ended. */
interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The built program in a directory of its own. */
export interface Bundle {
  readonly path: string;
  /** The same file without anything behind its entry: it cannot load the rest of itself. */
  readonly entryAlone: string;
  readonly directory: string;
  /** Runs the program in a clean environment; `node` takes flags for Node itself. */
  readonly run: (words: readonly string[], options?: RunOptions) => Promise<Ended>;
}

/** What one run is given. */
interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly node?: readonly string[];
  readonly path?: string;
}

/** A copy of the program as it ships; it is built where its sources have changed. */
export async function copyBundle(): Promise<Bundle> {
  const directory = await mkdtemp(join(tmpdir(), 'bootwright-bundle-'));
  await cp(dirname(await ensureBundle(() => undefined)), directory, { recursive: true });
  const path = join(directory, 'bootwright.mjs');
  const text = await readFile(path, 'utf8');
  const entryAlone = join(directory, 'entry-alone.mjs');
  await writeFile(entryAlone, text.slice(0, text.lastIndexOf('/*bootwright-parts')));
  return {
    path,
    entryAlone,
    directory,
    run: (words, { environment = {}, node = [], path: file = path } = {}) =>
      runNode([...node, file, ...words], environment),
  };
}

async function runNode(
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Ended> {
  try {
    const env = { PATH: process.env['PATH'] ?? '', ...environment };
    const { stdout, stderr } = await execute(process.execPath, argv, { env });
    return { exitCode: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { exitCode: code, stdout, stderr };
  }
}
