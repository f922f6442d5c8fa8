import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';

/** Folder for pictures of the pages, for people to look at. */
export const pictures = join(tmpdir(), 'bootwright-page-pictures');
mkdirSync(pictures, { recursive: true });

/**
 * Timeout of a browser action in milliseconds: on a busy machine that runs a lab, Playwright's own
 * 30 s are too short.
 */
const timeout = 300_000;

/** Starts Debian's Chromium without a screen. Chromium has no sandbox for root. */
export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'], timeout });

/** Settings of a reader's browser. */
export interface Reader {
  readonly width: number;
  readonly scheme: 'light' | 'dark';
}

/** An open page, and all complaints of its browser. */
export interface OpenPage extends AsyncDisposable {
  readonly page: Page;
  readonly complaints: readonly string[];
}

/** Opens a URL. */
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

/** The findings of axe: each rule with the elements that break it. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 120)}: ${failureSummary}`),
  );
}

/** The number of pixels by which a page is wider than its window. */
export const overhang = (page: Page): Promise<number> =>
  page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
