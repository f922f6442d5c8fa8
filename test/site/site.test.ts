import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { AddressInfo } from 'node:net';
import { join, posix } from 'node:path';
import { serve } from '@hono/node-server';
import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anchorOf, siteConfig } from '../../scripts/site/config.ts';
import { buildSite, followLinks } from '../../scripts/site.ts';
import { openPage, startBrowser } from '../page/browser.ts';

const top = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(top, path), 'utf8');

let folder: string;
let site: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bootwright-site-test-'));
  site = join(folder, 'site');
  await buildSite(site);
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Serves a folder on loopback. */
async function serveFolder(root: string) {
  const server = serve({ fetch: new Hono().use(serveStatic({ root })).fetch, port: 0 });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

describe('the docs site', () => {
  it('is made, and each of its links and anchors leads somewhere', async () => {
    await followLinks(site);
    expect(read('scripts/site/favicon.svg')).toBe(readFileSync(join(site, 'favicon.svg'), 'utf8'));
    const pages = globSync('**/*.html', { cwd: site });
    expect(pages).toEqual(
      expect.arrayContaining([
        'index.html',
        'docs/index.html',
        'docs/lab.html',
        'docs/adr/index.html',
      ]),
    );
    // A reader in a closed network has all of it: what a page loads lies beside it.
    const loads =
      /<(?:script|img|link)\b[^>]*(?:src|href)="(?:https?:)?\/\/|url\(["']?(?:https?:)?\/\//;
    const texts = globSync('**/*.{html,css}', { cwd: site }).filter((path) =>
      loads.test(readFileSync(join(site, path), 'utf8')),
    );
    expect(texts).toEqual([]);
  });

  it('is read on a narrow screen, and searched with decisions apart from the other pages', async () => {
    await using served = await serveFolder(site);
    const browser = await startBrowser();
    try {
      const address = `${served.url}/docs/guides/when-it-hangs.html`;
      await using narrow = await openPage(browser, address, { width: 400, scheme: 'light' });
      const widths = await narrow.page.evaluate<readonly number[]>(`(() => {
        const table = document.querySelector('.vp-doc table');
        const cell = document.querySelector('.vp-doc td.sentence');
        const page = document.documentElement;
        return [page, table].map((one) => one.scrollWidth - one.clientWidth).concat(cell.offsetWidth);
      })()`);
      expect(widths).toEqual([0, expect.toSatisfy((width) => width > 50), 240]);
      await using wide = await openPage(browser, address, { width: 1200, scheme: 'light' });
      await wide.page.locator('.VPNavBarSearch button').click();
      await wide.page.locator('#localsearch-input').fill('journal resuming');
      const results = wide.page.locator('.results .result');
      await results.getByText('Decision 0005').first().waitFor();
      const found = await wide.page.evaluate<readonly (readonly [boolean, boolean])[]>(
        `[...document.querySelectorAll('.results .result')].map((result) => [
          result.href.includes('/adr/'),
          /\\bDecision \\d{4}/.test(result.textContent),
        ])`,
      );
      expect(found[0]).toEqual([false, false]);
      expect(found.filter(([isDecision, isNamed]) => isDecision !== isNamed)).toEqual([]);
      expect([...narrow.complaints, ...wide.complaints]).toEqual([]);
    } finally {
      await browser.close();
    }
  });

  it('refuses an anchor that no page has', async () => {
    writeFileSync(join(folder, 'index.html'), '<a href="page.html#gone"></a>');
    writeFileSync(join(folder, 'page.html'), '<h2 id="here"></h2><a href="#here"></a>');
    await expect(followLinks(folder)).rejects.toThrow(/#gone/);
  });

  it('has every document in its sidebar, in the order of docs/README.md', () => {
    const index = read('docs/README.md');
    const documents = globSync('docs/{,guides/}*.md', { cwd: top }).filter(
      (path) => path !== 'docs/README.md',
    );
    const listed = [...index.matchAll(/^- \[[^\]]*\]\(([^)]+\.md)\)/gm)].map(([, path = '']) =>
      posix.join('docs', path),
    );
    expect([...listed].sort()).toEqual([...documents, 'docs/adr/README.md'].sort());
  });
});

/** Follows links as if they stood in a page. */
function linksIn(page: string, ...hrefs: readonly string[]): readonly Map<string, string>[] {
  type Rule = Parameters<
    Parameters<typeof siteConfig.markdown.config>[0]['core']['ruler']['push']
  >[1];
  const rules: Rule[] = [];
  siteConfig.markdown.config({ core: { ruler: { push: (_, rule) => rules.push(rule) } } });
  const links = hrefs.map((href) => new Map([['href', href]]));
  const children = links.map((link) => ({
    ...{ type: 'link_open', content: '', children: null },
    attrGet: (name: string) => link.get(name) ?? null,
    attrSet: (name: string, value: string) => void link.set(name, value),
  }));
  const inline = { ...children[0]!, type: 'inline', children };
  for (const rule of rules) rule({ tokens: [inline], env: { path: join(process.cwd(), page) } });
  return links;
}

describe('a link of a page', () => {
  it.each([
    ['to another page', 'lab.md#options', { href: 'lab.md#options' }],
    ['to the page of a folder', 'adr/README.md', { href: 'adr/index.md' }],
    [
      'to a file that is no page',
      'events.schema.json',
      { href: 'events.schema.json', target: '_self' },
    ],
    ['within the page', '#options', { href: '#options' }],
    ['elsewhere', 'https://example.com/README.md', { href: 'https://example.com/README.md' }],
  ])('%s is taken as the forge takes it', (_, href, expected) => {
    const [link] = linksIn('docs/guest.md', href);
    expect(Object.fromEntries(link!)).toEqual(expected);
  });

  it('to nothing, or to a folder, fails the build and is named with its page', () => {
    linksIn('docs/guest.md', 'gone.json', 'adr');
    expect(() => siteConfig.buildEnd({ outDir: folder })).toThrow(
      /docs\/guest\.md: gone\.json is no file\ndocs\/guest\.md: adr is no file$/,
    );
  });
});

describe('anchorOf', () => {
  it.each([
    ['What can fail', 'what-can-fail'],
    ['`--agent-image`: what it is', '--agent-image-what-it-is'],
    ['Rolled out, on 4.18 to 4.20', 'rolled-out-on-418-to-420'],
    ['A host_name', 'a-host_name'],
  ])('%s is %s, as on the forge', (heading, anchor) => {
    expect(anchorOf(heading)).toBe(anchor);
  });
});
