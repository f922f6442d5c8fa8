import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const pages = globSync(['*.md', 'docs/**/*.md', '{mocks,deploy}/**/*.md'], { cwd: root }).sort();

const textOf = (path: string): string =>
  readFileSync(join(root, path), 'utf8').replaceAll(/^```.*?^```/gms, '');

/**
 * Anchors of a page: those it names, and what the forge makes of headings, a second one of a name
 * with `-1`.
 */
const anchorsOf = (path: string): ReadonlySet<string> => {
  const named = [...textOf(path).matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id);
  const anchors = new Set(named);
  for (const [, heading = ''] of textOf(path).matchAll(/^#+ (.*)$/gm)) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = plain.replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-');
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
};

/** The links of a page to missing files or headings. */
const brokenLinks = (page: string): readonly string[] =>
  [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    if (!existsSync(join(root, file))) return [target];
    return anchor === undefined || !file.endsWith('.md') || anchorsOf(file).has(anchor)
      ? []
      : [target];
  });

describe('links in the documents', () => {
  it.each(pages)('%s links to existing files and headings', (page) => {
    expect(brokenLinks(page)).toEqual([]);
  });
});
