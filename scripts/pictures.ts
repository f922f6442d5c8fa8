// Takes the pictures of the page in the documents: the moment of the default scenario with the most
// different stages, its time line at the end, and a failure.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { headingOf, openLabPage } from '../mocks/lab/page.ts';
import { runScenario } from '../mocks/lab/run.ts';
import { DEFAULT_SCENARIO, hasCluster, readScenario } from '../mocks/lab/scenario.ts';
import { changesOf } from '../mocks/lab/shown-run.ts';
import { ensureBundle } from './bundle.ts';
import { browser as browserPart } from './parts/apt-packages.ts';
import { ensurePart } from './parts/ensure.ts';
import { kubeParts } from './rig.ts';

const docs = join(import.meta.dirname, '..', 'docs');
const POLL_INTERVAL_MILLIS = 500;

type Moment = ReturnType<typeof changesOf>;

const variety = ({ rows }: Moment): number => new Set(rows.map(({ stage }) => stage)).size;

let best: Moment | undefined;
let taking = Promise.resolve();

/** Takes a picture of a moment with more different stages than those before; one at a time. */
function take(page: Page, moment: Moment): void {
  if (best !== undefined && variety(moment) <= variety(best)) return;
  best = moment;
  const path = join(docs, 'page.png');
  taking = taking.then(async () => void (await page.screenshot({ path })));
}

await ensurePart(browserPart);
const bundle = await ensureBundle((text) => process.stderr.write(text));
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox'],
});

/** Runs a scenario to its end, with its page open; `during` gets each moment of the run. */
async function pageOf(name: string, during: (page: Page, moment: Moment) => void): Promise<Page> {
  const scenario = await readScenario(name);
  const page = await browser.newPage({
    viewport: { width: 1200, height: 860 },
    reducedMotion: 'reduce',
  });
  await using labPage = await openLabPage(headingOf(scenario), { isServed: true, file: undefined });
  await page.goto(labPage.url ?? '', { waitUntil: 'domcontentloaded' });
  let folder = '';
  const report = await runScenario({
    name,
    scenario,
    bundle,
    kube: hasCluster(scenario) ? await kubeParts() : undefined,
    signal: new AbortController().signal,
    watch: (run) => {
      ({ folder } = run);
      const end = labPage.watch(run);
      const poll = (): void => during(page, changesOf(run));
      const timer = setInterval(poll, POLL_INTERVAL_MILLIS);
      return () => {
        clearInterval(timer);
        end();
      };
    },
  });
  await labPage.end(report);
  await rm(folder, { recursive: true, force: true });
  if (!report.isAsExpected)
    throw new Error(`${name} was not as expected: ${report.differences.join('; ')}`);
  await page.locator('#state').getByText('as expected').waitFor();
  return page;
}

try {
  const failed = await pageOf('disk-busy', () => undefined);
  await failed.setViewportSize({ width: 1200, height: 620 });
  await failed.screenshot({ path: join(docs, 'page-failure.png') });
  const installed = await pageOf(DEFAULT_SCENARIO, take);
  await taking;
  // The heading stays on top of what is scrolled to.
  await installed.setViewportSize({ width: 1200, height: 3000 });
  await installed.locator('#time').screenshot({ path: join(docs, 'page-timeline.png') });
} finally {
  await browser.close();
}
if (best === undefined) throw new Error('no moment was shown');
console.log('docs/page.png, docs/page-timeline.png, docs/page-failure.png');
