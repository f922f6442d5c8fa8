// Runs the default scenario and takes two pictures for the README: its page in the middle of the run, and its time line.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { headingOf, openLabPage } from '../mocks/lab/page.ts';
import { runScenario } from '../mocks/lab/run.ts';
import { DEFAULT_SCENARIO, readScenario } from '../mocks/lab/scenario.ts';
import { tableOf } from '../mocks/lab/shown-run.ts';
import type { Table } from '../mocks/lab/table.ts';
import { ensureBundle } from './bundle.ts';
import { browser as browserPart } from './parts/apt-packages.ts';
import { ensureParts } from './parts/ensure.ts';
import { clusterParts, kubeParts } from './rig.ts';

const docs = join(import.meta.dirname, '..', 'docs');
const POLL_INTERVAL_MILLIS = 500;

const variety = ({ rows }: Table): number => new Set(rows.map(({ stage }) => stage)).size;

/** Takes pictures of moments, one at a time; the last is that with the most different stages. */
function momentTaker(page: Page): (table: Table) => Promise<void> {
  let best = 0;
  let taking = Promise.resolve();
  return (table) => {
    if (variety(table) <= best) return taking;
    best = variety(table);
    const path = join(docs, 'page.png');
    taking = taking.then(async () => void (await page.screenshot({ path })));
    return taking;
  };
}

await ensureParts([...clusterParts, browserPart]);
const bundle = await ensureBundle((text) => process.stderr.write(text));
const scenario = await readScenario(DEFAULT_SCENARIO);
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
const page = await browser.newPage({
  viewport: { width: 1200, height: 860 },
  reducedMotion: 'reduce',
});
await using labPage = await openLabPage(headingOf(scenario), { isServed: true, file: undefined });
await page.goto(labPage.url ?? '', { waitUntil: 'domcontentloaded' });
const take = momentTaker(page);
let folder = '';
const report = await runScenario({
  ...{ name: DEFAULT_SCENARIO, scenario, bundle, kube: await kubeParts() },
  signal: new AbortController().signal,
  watch: (run) => {
    ({ folder } = run);
    const end = labPage.watch(run);
    const timer = setInterval(() => void take(tableOf(run, Date.now())), POLL_INTERVAL_MILLIS);
    return () => {
      clearInterval(timer);
      end();
    };
  },
});
await labPage.end(report);
await page.locator('#state').getByText('as expected').waitFor();
// The heading stays on top of what is scrolled to.
await page.setViewportSize({ width: 1200, height: 3000 });
await page.locator('#time').screenshot({ path: join(docs, 'page-timeline.png') });
await browser.close();
await rm(folder, { recursive: true, force: true });
if (!report.isAsExpected) {
  throw new Error(`the run was not as expected: ${report.differences.join('; ')}`);
}
console.log('docs/page.png, docs/page-timeline.png');
