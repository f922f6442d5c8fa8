import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeContext } from './write-context.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bootwright-context-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The second cannot be written, as there is no folder of that name. */
const half = [
  { path: 'a', content: 'x' },
  { path: 'a/b', content: 'x' },
];

const all = (): readonly string[] => readdirSync(folder, { recursive: true }).map(String).sort();

describe('writeContext', () => {
  it.each([
    ['a folder that is not there', 'out'],
    ['one in folders that are not there', 'deep/er/out'],
    ['an empty folder', 'empty'],
  ])('leaves nothing of half a context in %s', async (_, name) => {
    mkdirSync(join(folder, 'empty'));
    await expect(writeContext(join(folder, name), half)).rejects.toMatchObject({
      code: 'layering.not-written',
      kind: 'host',
      message: `${join(folder, name)} cannot be written`,
    });
    expect(all()).toEqual(['empty']);
  });

  it('leaves nothing beside what it writes', async () => {
    await writeContext(join(folder, 'out'), [
      { path: 'a', content: 'x' },
      { path: 'b/c', content: 'y' },
    ]);
    expect(all()).toEqual(['out', 'out/a', 'out/b', 'out/b/c']);
  });
});
