import { copyFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { CachedPart } from './part.ts';

const folder = resolve(import.meta.dirname, '../site');
const files = ['package.json', 'package-lock.json'].map((name) => join(folder, name));

/** VitePress and what follows its links, as npm packages of their own: nothing else needs them. */
export const docsGenerator: CachedPart = {
  kind: 'cached',
  name: 'docs-generator',
  purpose: 'VitePress and linkinator, which make the docs site and follow its links',
  pin: 'scripts/site/package-lock.json',
  cost: '10 seconds, 110 MB',
  tools: [],
  inputs: [],
  files: [import.meta.filename, ...files],
  build: async ({ folder: site, log }) => {
    for (const file of files) copyFileSync(file, join(site, file.replace(/^.*\//, '')));
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund'];
    await log.run({ argv: ['npm', 'ci', ...quiet], cwd: site });
  },
};
