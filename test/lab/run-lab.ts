import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { LabReport } from '../../mocks/lab/report.ts';

/** The top of the tree. */
export const top = join(import.meta.dirname, '..', '..');

/** How a run of the lab ended. */
export interface LabRun {
  readonly exitCode: number | null;
  readonly output: string;
  readonly report: LabReport;
}

/**
 * Runs the lab by a command for a shell, to which `--report` is added, and stops it when the
 * signal aborts.
 * @throws Error with what was printed when there is no report
 */
export async function runLab(command: string, signal?: AbortSignal): Promise<LabRun> {
  const folder = await mkdtemp(join(tmpdir(), 'lab-report-'));
  try {
    const file = join(folder, 'report.json');
    signal?.throwIfAborted();
    const child = spawn('sh', ['-c', `exec ${command} --report '${file}'`], {
      cwd: top,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    signal?.addEventListener('abort', () => child.kill());
    const [shown, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const [exitCode, endedBy] = await closed;
    const output = `${shown}${errors}the lab ended with ${exitCode ?? endedBy ?? 'nothing'}\n`;
    const report = await reportIn(file, output);
    return { exitCode, output, report };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function reportIn(file: string, output: string): Promise<LabReport> {
  const written = await readFile(file, 'utf8').catch(() => {
    throw new Error(output);
  });
  return JSON.parse(written) as LabReport;
}
