import { defineConfig } from 'vitest/config';
import { allSuites } from '../scripts/suites/all.ts';
import { projectOf } from '../vitest.config.ts';

/** The tests that mutants of the safety rooms are run against: the unit tests of `src`; see docs/testing.md. */
export default defineConfig({
  test: {
    sequence: { seed: 1 },
    projects: allSuites.flatMap(({ name, tests }) =>
      name === 'unit' && tests !== undefined
        ? [projectOf(name, { ...tests, include: ['src/**/*.test.ts'] })]
        : [],
    ),
  },
});
