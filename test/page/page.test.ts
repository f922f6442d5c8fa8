import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../mocks/kube/program.ts';
import type { ListeningServer } from '../../src/adapters/http-server.ts';
import { servePage } from '../../src/adapters/page-server.ts';
import { type LivePage, livePage } from '../../src/page/server.ts';
import { emptyPage } from '../../src/page/state.ts';
import { axeFindings, openPage, overhang, pictures, type Reader, startBrowser } from './browser.ts';
import { evilName, sampleUpdates } from './sample.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(async () => {
  await browser.close();
});

const desk: Reader = { width: 1280, scheme: 'light' };

/** A page in the middle of an installation. */
function samplePage(): LivePage {
  const begin = Date.now() - 80_000;
  const live = livePage(emptyPage('A cluster', 'One host bootstraps it.', begin));
  for (const update of sampleUpdates(begin)) live.update(update);
  return live;
}

/** A page in the middle of an installation, with its server and a browser that reads it. */
async function openSample({
  reader = desk,
  port = 0,
  prepare = () => undefined,
}: {
  readonly reader?: Reader;
  readonly port?: number;
  /** Runs before the browser opens the page. */
  readonly prepare?: (live: LivePage, server: ListeningServer) => unknown;
} = {}) {
  await using ends = new AsyncDisposableStack();
  const live = samplePage();
  const server = await servePage(live, { host: '127.0.0.1', port });
  ends.defer(server.close);
  await prepare(live, server);
  const { page, complaints } = ends.use(await openPage(browser, server.url, reader));
  const opened = ends.move();
  return { live, server, page, complaints, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** `EventSource.CLOSED`. */
const closed = 2;

/** Keeps each EventSource of a page: a closed one never reconnects, however late. */
const keepSources = `
  globalThis.sources = [];
  globalThis.EventSource = class extends EventSource {
    constructor(url) {
      super(url);
      sources.push(this);
    }
  };
`;

const readers: readonly Reader[] = [
  { width: 400, scheme: 'light' },
  { width: 1280, scheme: 'dark' },
  { width: 3840, scheme: 'light' },
];

describe.each(readers)('for a reader of $width pixels, $scheme', (reader) => {
  it('fits, passes axe and causes no browser errors', async () => {
    await using own = await openSample({ reader });
    const { page, complaints } = own;
    await page.getByText('63 %').first().waitFor();
    for (const summary of await page.locator('summary').all()) await summary.click();
    expect(await overhang(page)).toBe(0);
    expect(await axeFindings(page)).toEqual([]);
    const path = join(pictures, `page-${reader.width}-${reader.scheme}.png`);
    await page.screenshot({ path, fullPage: true });
    expect(complaints).toEqual([]);
  });
});

it('axe reports a violation', async () => {
  await using opened = await openPage(browser, 'data:text/html,<img src="data:,">', desk);
  expect(await axeFindings(opened.page)).toContainEqual(expect.stringMatching(/^image-alt: /));
});

describe('a live page', () => {
  it('shows updates and keeps open lists and the focus', async () => {
    await using own = await openSample();
    const { page, complaints } = own;
    const summary = page.locator('#host-1 summary');
    await summary.focus();
    await page.keyboard.press('Enter');
    own.live.update({ kind: 'fault', at: Date.now(), where: 'm1', what: 'power-loss again' });
    const progress = { info: '77%', percent: 77 };
    const event = {
      at: Date.now(),
      run: 'r',
      type: 'step.progress',
      step: 'image/write',
      progress,
    } as const;
    own.live.update({ kind: 'event', at: Date.now(), host: 'b1', event });
    own.live.update({
      kind: 'host',
      at: Date.now(),
      id: 'w9',
      name: 'w9',
      role: 'worker',
      rail: [],
    });
    await page.getByText('power-loss again').first().waitFor();
    await page.getByText('77 %').waitFor();
    await page.getByRole('heading', { name: 'w9' }).waitFor();
    expect(await page.locator('#host-1 details').getAttribute('open')).toBe('');
    const isFocused = 'document.activeElement === document.querySelector("#host-1 summary")';
    expect(await page.evaluate(isFocused)).toBe(true);
    expect(complaints).toEqual([]);
  });

  it('updates its clocks', async () => {
    await using own = await openSample();
    const clock = own.page.locator('#state time');
    await expect.poll(() => clock.textContent()).toMatch(/^\d+ min \d+ s$/);
    const before = await clock.textContent();
    await expect.poll(() => clock.textContent()).not.toBe(before);
  });

  it('shows that its server does not answer, reconnects, and adds the lines of a restarted program', async () => {
    const port = await freePort();
    await using own = await openSample({ port });
    const { page } = own;
    await page.getByText('63 %').first().waitFor();
    await own.server.close();
    await page.getByText('does not answer').waitFor();
    const live = livePage(emptyPage('A cluster', 'Watched again.', Date.now()));
    live.update({ kind: 'line', at: Date.now(), source: 'm1', level: 'info', text: 'said anew' });
    const again = await servePage(live, { host: '127.0.0.1', port });
    await page.getByText('does not answer').waitFor({ state: 'hidden' });
    await page.locator('#lines').getByText('said anew').waitFor();
    await again.close();
  });

  it('reconnects after the limit of readers was reached', async () => {
    const others = new AbortController();
    // The garbage collector would cancel a response without a reference.
    const held: Response[] = [];
    const prepare = async (_: LivePage, { url }: ListeningServer): Promise<void> => {
      for (let reader = 0; reader < 16; reader += 1)
        held.push(await fetch(`${url}events`, { signal: others.signal }));
    };
    await using own = await openSample({ prepare });
    const gone = own.page.getByText('does not answer');
    await gone.waitFor();
    expect(held.map(({ ok }) => ok)).not.toContain(false);
    others.abort();
    await gone.waitFor({ state: 'hidden' });
  });

  it('does not reconnect after the end', async () => {
    await using own = await openSample();
    const { page } = own;
    await page.addInitScript(keepSources);
    await page.reload();
    own.live.update({ kind: 'end', at: Date.now(), isGood: true, text: 'installed', details: [] });
    await page.locator('#state').getByText('installed').first().waitFor();
    const states = await page.evaluate('sources.map(({ readyState }) => readyState)');
    expect(states).toEqual([closed]);
    await own.server.close();
    expect(await page.locator('#gone').isVisible()).toBe(false);
  });
});

it('limits the height of its heading, and copies a failure', async () => {
  await using own = await openSample({
    prepare: ({ update }) => {
      update({ kind: 'begin', at: Date.now(), title: 'A title '.repeat(60) });
      update({ kind: 'source', at: Date.now(), lastError: 'connection refused' });
    },
  });
  const { page } = own;
  await page.setViewportSize({ width: 1440, height: 900 });
  expect((await page.locator('#top').boundingBox())?.height).toBeLessThanOrEqual(90);
  await page.getByText('Not reached yet: connection refused').waitFor();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy the failure of w1' }).click();
  const copied = (): Promise<string> => page.evaluate<string>('navigator.clipboard.readText()');
  await expect
    .poll(copied)
    .toContain('failed: disk.busy: the disk is busy\nnext: unmount it\nlogs: ');
});

it('does not truncate a digest or reason, and has its long heading as a title', async () => {
  await using own = await openSample();
  const { page } = own;
  const image = `registry.example.com/layered/worker@sha256:${'0123456789abcdef'.repeat(4)}`;
  const status = `${image} cannot be pulled: ${'unexpected status 503 of the registry; '.repeat(8)}last`;
  const [at, sentence] = [Date.now(), 'the image is there'];
  own.live.update({
    kind: 'event',
    at,
    host: 'b1',
    event: {
      at,
      run: 'b1',
      type: 'wait.updated',
      step: 'cluster/wait-for-masters',
      sentence,
      status,
      waited: 20_000,
      limit: 3_600_000,
    },
  });
  own.live.update({ kind: 'begin', at, title: image.repeat(3) });
  await page.setViewportSize({ width: 1440, height: 900 });
  const why = page.locator('#host-1 .why').filter({ hasText: image });
  expect(await why.innerText()).toContain('last, at most 1 h');
  const cut =
    '[...document.querySelectorAll(".why")].filter((one) => one.scrollHeight > one.clientHeight + 1)';
  expect(await page.evaluate<number>(`${cut}.length`)).toBe(0);
  expect(await page.locator('h1').getAttribute('title')).toBe(image.repeat(3));
  await page.screenshot({ path: join(pictures, 'page-reasons.png') });
});

describe('a page without a mouse', () => {
  it('is navigated by keys to the log and through the hosts', async () => {
    await using own = await openSample();
    const { page } = own;
    const focused = (): Promise<string> =>
      page.evaluate<string>('document.activeElement.id || document.activeElement.tagName');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('more');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('save');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('lines');
    await page.keyboard.press('/');
    expect(await focused()).toBe('filter');
    const stops: string[] = [];
    for (let count = 0; count < 12; count += 1) {
      await page.keyboard.press('Shift+Tab');
      stops.push(await focused());
    }
    expect(stops.filter((stop) => stop === 'SUMMARY')).toHaveLength(5);
  });

  it('filters the log by every word, and downloads the filtered lines', async () => {
    await using own = await openSample();
    const { page, complaints } = own;
    await page.keyboard.press('/');
    await page.keyboard.type('m1 firmware');
    const lines = page.locator('#lines li:visible');
    await expect.poll(() => lines.allTextContents()).toHaveLength(1);
    expect(await lines.first().textContent()).toContain('Configure the firmware');
    expect(await page.locator('#count').textContent()).toMatch(/^1 of \d+ lines$/);
    const started = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    const download = await started;
    expect(download.suggestedFilename()).toMatch(/^bootwright-\d{4}-\d\d-\d\dT\d{4}\.log$/);
    const text = await readFile(await download.path(), 'utf8');
    expect(text).toMatch(/^\d\d:\d\d:\d\d m1 .*Configure the firmware.*\n$/);
    own.live.update({
      kind: 'line',
      at: Date.now(),
      source: 'm1',
      level: 'debug',
      text: 'firmware of ours',
    });
    await page.getByLabel('commands and details').check();
    await expect.poll(() => lines.allTextContents()).toHaveLength(2);
    expect(complaints).toEqual([]);
  });
});

it('escapes the name of a host', async () => {
  await using own = await openSample();
  await own.page.getByRole('heading', { name: evilName }).waitFor();
  own.live.update({
    kind: 'host',
    at: 0,
    id: 'x',
    name: `${evilName} again`,
    role: evilName,
    rail: [],
  });
  await own.page.getByRole('heading', { name: `${evilName} again` }).waitFor();
  expect(await own.page.locator('img').count()).toBe(0);
  expect(own.complaints).toEqual([]);
});

describe('a saved page', () => {
  it('works as a file without requests, and has the timeline', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'bootwright-saved-'));
    try {
      const live = samplePage();
      live.update({
        kind: 'end',
        at: Date.now(),
        isGood: true,
        text: 'installed',
        details: [],
      });
      const file = join(folder, 'page.html');
      await writeFile(file, live.saved(Date.now()));
      await using opened = await openPage(browser, pathToFileURL(file).href, desk);
      const { page, complaints } = opened;
      const asked: string[] = [];
      page.on('request', (request) => asked.push(request.url()));
      await page.getByText('Time by activity').waitFor();
      await page.getByLabel('Filter').fill('power-loss');
      await expect.poll(() => page.locator('#lines li:visible').count()).toBe(1);
      expect(await axeFindings(page)).toEqual([]);
      expect(complaints).toEqual([]);
      expect(asked).toEqual([]);
      await page.screenshot({ path: join(pictures, 'saved.png'), fullPage: true });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
