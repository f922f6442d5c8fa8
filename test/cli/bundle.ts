import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ensureBundle } from '../../scripts/bundle.ts';

const execute = promisify(execFile);

/** The end of one run of the program. */
interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A copy of the built program in its own directory, with its chunks. */
export interface Bundle {
  readonly path: string;
  /** The same without the chunk that has the rest of the program. */
  readonly startAlone: string;
  readonly directory: string;
  /** Runs the program in a clean environment; `node` has flags for Node itself. */
  readonly run: (words: readonly string[], options?: RunOptions) => Promise<Ended>;
}

/** Options of one run. */
interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly node?: readonly string[];
  readonly path?: string;
}

/** Copies the program as it ships; builds it first if its sources have changed. */
export async function copyBundle(): Promise<Bundle> {
  const directory = await mkdtemp(join(tmpdir(), 'bootwright-bundle-'));
  const built = await ensureBundle(() => undefined);
  await cp(dirname(built), directory, { recursive: true });
  const path = join(directory, 'bootwright.mjs');
  const startAlone = join(directory, 'start-alone');
  await cp(dirname(built), startAlone, { recursive: true });
  const rest = (await readdir(startAlone)).filter((name) => /^program-\w+\.mjs$/.test(name));
  if (rest.length !== 1) throw new Error('the rest of the program is not one chunk');
  await rm(join(startAlone, ...rest));
  return {
    path,
    startAlone: join(startAlone, 'bootwright.mjs'),
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
