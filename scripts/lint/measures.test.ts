import { describe, expect, it } from 'vitest';
import { overBudget, readSources, type Source } from './measures.ts';

const file = (path: string, lines: number): Source => ({
  ...{ path, lines, imports: [], exports: [] },
});

describe('budgets', () => {
  it('give every file of src a room', () => {
    const lines = overBudget(readSources());
    expect(lines.filter((line) => line.includes('in no room'))).toEqual([]);
  });

  it('refuse a room that grows, and a file in none', () => {
    const over = overBudget([file('src/lib/one.ts', 1e6), file('src/attic/two.ts', 1)]);
    expect(over).toContain('src/attic/two.ts: in no room with a budget');
    expect(
      over.filter((line) => /^src\/lib: 1000000 lines \(at most \d+\)$/.test(line)),
    ).toHaveLength(1);
    expect(over.filter((line) => line.startsWith('src: 1000001 lines'))).toHaveLength(1);
  });

  it('refuse names that many files export, and files that one file imports', () => {
    const files = Array.from({ length: 200 }, (_, at) => ({
      ...file(`src/lib/f${at}.ts`, 1),
      imports: [`src/lib/f${at + 1}.ts`],
      exports: [`name${at % 100}`],
    }));
    const over = overBudget(files).join('\n');
    expect(over).toMatch(/^src: 199 files with one importer \(at most \d+\)$/m);
    expect(over).toMatch(/^src: 100 exported names in more than one file \(at most \d+\)$/m);
  });

  it('take what fits', () => {
    expect(overBudget([file('src/lib/one.ts', 90)])).toEqual([]);
  });
});
