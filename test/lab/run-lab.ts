import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { LabReport } from '../../mocks/lab/report.ts';

/** The top of the tree. */
export const top = join(import.meta.dirname, '..', '..');

/** The schema of reports as it is published. */
export const publishedSchema = JSON.parse(
  await readFile(join(top, 'docs', 'lab-report.schema.json'), 'utf8'),
) as object;

/** How a run of the lab ended. */
export interface LabRun {
  readonly exitCode: number | null;
  readonly output: string;
  readonly report: LabReport;
}

/**
 * Runs the lab by a command for a shell, to which `--report` is added, and stops it when the signal aborts.
 * @throws Error when its report is none by the schema
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
  const written = await readFile(file, 'utf8').catch(() => 'null');
  const report = JSON.parse(written) as unknown;
  const validate = new Ajv2020().compile(publishedSchema);
  if (!validate(report)) throw new Error(`${JSON.stringify(validate.errors)}\n${output}`);
  return LabReport.parse(report);
}
