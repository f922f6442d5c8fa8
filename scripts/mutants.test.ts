import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseSync } from 'oxc-parser';
import { expect, it } from 'vitest';
import { allMutants } from '../test/mutants/all.ts';
import { mutate } from './mutants.ts';

it.each(Object.entries(allMutants))('knows %s as it is', (file, mutants) => {
  const text = readFileSync(resolve(import.meta.dirname, '..', file), 'utf8');
  for (const mutant of mutants) {
    const mutated = mutate(text, mutant);
    expect(mutated).not.toBe(text);
    // What is no program would fail every test.
    expect(parseSync(file, mutated).errors, mutant.means).toEqual([]);
  }
});
