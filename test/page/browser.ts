import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';

/** Where pictures of the pages go, for people to look at. */
export const pictures = join(tmpdir(), 'bootwright-page-pictures');
mkdirSync(pictures, { recursive: true });

/**
 * How long a browser may take for a thing, in milliseconds: Playwright's own 30 s are few beside a
 * lab, on a busy machine.
 */
const timeout = 300_000;

/** Starts Debian's Chromium without a screen; root has no sandbox of it. */
export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'], timeout });

/** How somebody looks at a page. */
export interface Reader {
  readonly width: number;
  readonly scheme: 'light' | 'dark';
}

/** A page that was opened, and whatever its browser has to complain of. */
export interface OpenPage extends AsyncDisposable {
  readonly page: Page;
  readonly complaints: readonly string[];
}

/** Opens an address. */
export async function openPage(
  browser: Browser,
  url: string,
  { width, scheme }: Reader,
): Promise<OpenPage> {
  const context = await browser.newContext({
    viewport: { width, height: Math.round(Math.max(700, width * 0.6)) },
    colorScheme: scheme,
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(timeout);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() !== 'log') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(url, { waitUntil: 'domcontentloaded' });
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() };
}

/** What axe finds: the rule with the elements that break it. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 120)}: ${failureSummary}`),
  );
}

/** How many pixels of a page one would have to scroll sideways for. */
export const overhang = (page: Page): Promise<number> =>
  page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
