// Makes the docs site and follows its links: node scripts/site.ts [FOLDER]; see docs/testing.md.
import { spawn } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempDisposableSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { join, resolve } from 'node:path';
import { docsGenerator } from './parts/docs-generator.ts';
import { ensurePart } from './parts/ensure.ts';
import { partFolder } from './parts/part.ts';

const top = join(import.meta.dirname, '..');

/**
 * Makes the site of the Markdown of the tree in a folder. VitePress works on a copy: it writes beside its pages, and looks
 * for Vue above them.
 * @throws Error that names each link to a page or file that is not there
 */
export async function buildSite(folder: string): Promise<void> {
  using copy = mkdtempDisposableSync(join(tmpdir(), 'bootwright-site-'));
  const at = (path: string): string => join(copy.path, path);
  for (const path of globSync(['*.md', 'docs/**/*.{md,svg,png}'], { cwd: top }))
    cpSync(join(top, path), at(path));
  symlinkSync(join(partFolder(docsGenerator), 'node_modules'), at('node_modules'));
  mkdirSync(at('.vitepress'));
  const config = join(top, 'scripts/site/config.ts');
  writeFileSync(at('.vitepress/config.ts'), `export { siteConfig as default } from '${config}';\n`);
  await runPackage('vitepress/bin/vitepress.js', ['build', '--outDir', folder], copy.path);
}

/**
 * Follows the links of a site from its index, anchors included. Nothing is fetched from elsewhere.
 * @throws Error that names each link that leads nowhere, with its page
 */
export const followLinks = (folder: string): Promise<void> =>
  runPackage(
    'linkinator/build/src/cli.js',
    [
      ...['index.html', '--server-root', '.', '--recurse', '--check-fragments'],
      ...['--skip', String.raw`^https?://(?!127\.0\.0\.1:)`, '--verbosity', 'error'],
    ],
    folder,
  );

async function runPackage(script: string, args: readonly string[], cwd: string): Promise<void> {
  const path = join(partFolder(docsGenerator), 'node_modules', script);
  const child = spawn(process.execPath, [path, ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const exitCode = await new Promise((done) => child.on('close', done));
  if (exitCode !== 0) throw new Error((await output).join('\n'));
}

if (import.meta.main) {
  const folder = resolve(process.argv[2] ?? join(top, 'scripts/site/dist'));
  await ensurePart(docsGenerator);
  await buildSite(folder);
  await followLinks(folder);
  console.log(`the site is in ${folder}, for any web server`);
}
