// Makes the pictures of failures in docs/pictures: node test/page/pictures.ts
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openPage, startBrowser } from './browser.ts';

/** Scenarios of the lab that fail without a cluster: each takes some seconds. */
const scenarios = ['disk-write-error', 'no-disk', 'wrong-digest'];

const top = resolve(import.meta.dirname, '../..');
const folder = join(top, 'docs/pictures');
mkdirSync(folder, { recursive: true });
const pages = mkdtempSync(join(tmpdir(), 'bootwright-pictures-'));
const browser = await startBrowser();
for (const scenario of scenarios) {
  const file = join(pages, `${scenario}.html`);
  const lab = ['scripts/lab.ts', '--scenario', scenario, '--page-file', file];
  execFileSync(process.execPath, lab, { cwd: top, stdio: 'inherit' });
  for (const [width, height] of [
    [1280, 720],
    [390, 760],
  ] as const) {
    for (const scheme of ['light', 'dark'] as const) {
      await using opened = await openPage(browser, pathToFileURL(file).href, { width, scheme });
      await opened.page.setViewportSize({ width, height });
      const path = join(folder, `${scenario}-${width}-${scheme}.png`);
      await opened.page.screenshot({ path });
    }
  }
}
await browser.close();
rmSync(pages, { recursive: true });
