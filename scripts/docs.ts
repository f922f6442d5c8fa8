import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { generatedPages } from './docs/pages.ts';

const root = resolve(import.meta.dirname, '..');

for (const [path, text] of Object.entries(await generatedPages())) {
  mkdirSync(dirname(resolve(root, path)), { recursive: true });
  writeFileSync(resolve(root, path), text);
  console.log(`wrote ${path}`);
}
