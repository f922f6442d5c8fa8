import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { allSuites, type VitestProject } from './scripts/suites/all.ts';

/** A test that hangs takes so many times longer to be found, and one on a machine that is so much slower passes. */
const slowest = 5;

/** The tests of a suite, as vitest runs them. */
export const projectOf = (name: string, suite: VitestProject): TestProjectInlineConfiguration => {
  const timeout = (suite.timeoutSeconds ?? 10) * 1000 * slowest;
  const hasRealPrograms = suite.filesAtOnce !== undefined;
  return {
    test: {
      name,
      include: [...suite.include],
      setupFiles: [...(suite.setupFiles ?? [])],
      ...(suite.filesAtOnce === undefined ? {} : { maxWorkers: suite.filesAtOnce }),
      ...(suite.atOnce === undefined ? {} : { maxConcurrency: suite.atOnce }),
      isolate: suite.sharesModules !== true,
      execArgv: [...(suite.nodeOptions ?? [])],
      env: { ...suite.env },
      sequence: { shuffle: !hasRealPrograms },
      testTimeout: timeout,
      hookTimeout: timeout,
      expect: {
        // A busy machine makes what is waited for late, and a test that fails may take its time.
        poll: { timeout: timeout / 4 },
        // A loop without a turn and a callback that nobody calls assert nothing. Of a real program
        // much is awaited, and a wait that fails throws.
        requireAssertions: !hasRealPrograms,
      },
      // A failure that happens once in CI must show the value, not its first words.
      chaiConfig: { truncateThreshold: 4000 },
    },
  };
};

export default defineConfig({
  test: {
    // The order of tests, as the cases of properties: the same where CI wants the same.
    sequence: { seed: Number(process.env['TEST_SEED'] ?? Date.now()) },
    projects: allSuites.flatMap(({ name, tests }) =>
      tests === undefined ? [] : [projectOf(name, tests)],
    ),
  },
});
