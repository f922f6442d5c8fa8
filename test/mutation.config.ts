import { defineConfig } from 'vitest/config';
import { allSuites } from '../scripts/suites/all.ts';
import { projectOf } from '../vitest.config.ts';

/** The safety rooms, as in stryker.config.json: mutants are run against their unit tests. */
const rooms = [
  ...['steps/disk', 'steps/image', 'engine', 'cluster/csr', 'controllers/installation'],
  ...['controllers/pools', 'layering/roll-out', 'capi/control-plane'],
];

/** The tests that mutants are run against; see docs/testing.md. */
export default defineConfig({
  test: {
    sequence: { seed: 1 },
    projects: allSuites.flatMap(({ name, tests }) =>
      name === 'unit' && tests !== undefined
        ? [projectOf(name, { ...tests, include: rooms.map((room) => `src/${room}/**/*.test.ts`) })]
        : [],
    ),
  },
});
