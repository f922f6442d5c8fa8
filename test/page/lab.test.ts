import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { openPage, pictures, startBrowser } from './browser.ts';

const top = resolve(import.meta.dirname, '../..');

it('follows a run of the lab with a fault, and saves its timeline', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-lab-page-'));
  const file = join(folder, 'run.html');
  const args = ['scripts/lab.ts', '--scenario', 'agent-killed', '--page', '--page-file', file];
  const lab = spawn(process.execPath, args, { cwd: top, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(lab, 'close');
  const browser = await startBrowser();
  try {
    let printed = '';
    lab.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    const urlIn = (): string | undefined => /^page: (\S+)$/m.exec(printed)?.[1];
    await expect.poll(urlIn).toBeDefined();
    await using opened = await openPage(browser, urlIn() ?? '', { width: 1280, scheme: 'light' });
    const { page, complaints } = opened;
    await page.locator('#hosts .bar').first().waitFor();
    expect(await page.locator('#host-2 header').textContent()).toContain(
      'simulated, 16.5 GB memory, sda 129 GB',
    );
    expect(await page.locator('#state').textContent()).toContain('usually about');
    await page.screenshot({ path: join(pictures, 'lab.png'), fullPage: true });
    await page.locator('#faults').getByText('agent-killed after image/write').waitFor();
    // The last update for a reader before the lab ends.
    await page.locator('#state').getByText('installed, as expected').waitFor();
    expect(await page.locator('#host-2 .cell').count()).toBeGreaterThan(15);
    expect(await page.locator('#host-2 .badge').textContent()).toContain('is a node');
    expect(complaints).toEqual([]);
    expect(await ended).toEqual([0, null]);
    const saved = await readFile(file, 'utf8');
    expect(saved).toContain('fault on m2: agent-killed after image/write');
    expect(saved).toContain('Write the operating system to the install disk');
  } finally {
    lab.kill();
    await browser.close();
    await rm(folder, { recursive: true });
  }
});
