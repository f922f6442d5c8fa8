// Runs the default scenario and draws the moment with the most different stages: docs/lab.svg.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clusterParts, kubeParts } from './rig.ts';
import { ensureParts } from './parts/ensure.ts';
import { ensureBundle } from './bundle.ts';
import { runScenario } from '../mocks/lab/run.ts';
import { DEFAULT_SCENARIO, readScenario } from '../mocks/lab/scenario.ts';
import { renderSvg } from '../mocks/lab/table-picture.ts';
import { tableOf } from '../mocks/lab/shown-run.ts';
import { renderTable, type Table } from '../mocks/lab/table.ts';

const COLUMNS = 116;
const POLL_INTERVAL_MILLIS = 100;

const variety = ({ rows }: Table): number => new Set(rows.map(({ stage }) => stage)).size;

await ensureParts(clusterParts);

let best: Table | undefined;
let folder = '';
const report = await runScenario({
  name: DEFAULT_SCENARIO,
  scenario: await readScenario(DEFAULT_SCENARIO),
  bundle: await ensureBundle((text) => process.stderr.write(text)),
  kube: await kubeParts(),
  signal: new AbortController().signal,
  watch: (run) => {
    ({ folder } = run);
    const timer = setInterval(() => {
      const table = tableOf(run, Date.now());
      if (best === undefined || variety(table) > variety(best)) best = table;
    }, POLL_INTERVAL_MILLIS);
    return () => {
      clearInterval(timer);
    };
  },
});
await rm(folder, { recursive: true, force: true });
if (!report.isAsExpected || best === undefined) {
  throw new Error(`the run was not as expected: ${report.differences.join('; ')}`);
}
const target = join(import.meta.dirname, '..', 'docs', 'lab.svg');
await writeFile(target, renderSvg(renderTable({ ...best, title: `lab: ${best.title}` }, COLUMNS)));
console.log(`docs/lab.svg shows second ${best.seconds.toFixed(0)} of ${report.seconds.toFixed(0)}`);
