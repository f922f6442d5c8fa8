// Shows a play to whoever started the lab.
import { rm, writeFile } from 'node:fs/promises';
import type { LabOptions } from './options.ts';
import type { LabReport } from './report.ts';
import { watchOn } from './screen.ts';
import { summaryOf } from './summary.ts';
import type { ShownStage } from './table.ts';

/** What a play is given by those who watch it. */
interface Watched {
  readonly signal: AbortSignal;
  readonly watch: (stage: ShownStage & { readonly folder: string }) => () => void;
}

/** Shows a play while it goes on, tells its end, and gives the exit code. */
export async function tellOf(
  { report: file, keeps }: LabOptions,
  start: (watched: Watched) => Promise<LabReport>,
): Promise<number> {
  const { stdout } = process;
  const watch = watchOn(stdout);
  let folder: string | undefined;
  try {
    const report = await start({
      signal: stopSignal(),
      watch: (stage) => {
        ({ folder } = stage);
        return watch(stage);
      },
    });
    stdout.write(summaryOf(report));
    if (file !== undefined) await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
    return report.isAsExpected ? 0 : 1;
  } finally {
    await clearUp(folder, keeps);
  }
}

async function clearUp(folder: string | undefined, keeps: boolean): Promise<void> {
  if (folder === undefined) return;
  if (keeps) process.stdout.write(`files of the hosts: ${folder}\n`);
  else await rm(folder, { recursive: true, force: true });
}

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => {
      stop.abort(new Error(`stopped by ${name}`));
    });
  }
  return stop.signal;
}
