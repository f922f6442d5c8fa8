import { defineConfig } from 'vitest/config';

interface Suite {
  readonly name: string;
  readonly include: readonly string[];
  readonly setupFiles?: readonly string[];
  /** Real programs and guests share two cores: their files run one after the other. */
  readonly inTurn?: boolean;
  /** How many tests of a file that say they may run at once do so. */
  readonly atOnce?: number;
  /** The files share their modules: loading those anew for each file is most of the work of quick tests. */
  readonly sharesModules?: boolean;
  /** Options of the Node that runs the tests. */
  readonly nodeOptions?: readonly string[];
  readonly timeoutSeconds?: number;
}

const suites: readonly Suite[] = [
  {
    name: 'unit',
    include: ['{src,mocks,scripts}/**/*.test.ts', 'test/guest/rig/*.test.ts'],
    setupFiles: ['test/setup.unit.ts'],
    sharesModules: true,
  },
  {
    name: 'roles',
    include: ['test/roles/**/*.test.ts'],
    setupFiles: ['test/setup.unit.ts', 'test/setup.roles.ts'],
    sharesModules: true,
    // Thousands of short lives: most of what they leave is garbage before it has to be moved.
    nodeOptions: ['--max-semi-space-size=64'],
    timeoutSeconds: 300,
  },
  { name: 'contract', include: ['test/contract/**/*.test.ts'], timeoutSeconds: 60 },
  { name: 'process', include: ['test/process/**/*.test.ts'], inTurn: true, timeoutSeconds: 120 },
  { name: 'cli', include: ['test/cli/**/*.test.ts'], timeoutSeconds: 60 },
  {
    name: 'lab',
    include: ['test/lab/**/*.test.ts'],
    inTurn: true,
    atOnce: 3,
    timeoutSeconds: 300,
  },
  { name: 'oracle', include: ['test/**/*.oracle.test.ts'], timeoutSeconds: 300 },
  { name: 'objects', include: ['test/**/*.objects.test.ts'], timeoutSeconds: 60 },
  { name: 'kube', include: ['test/**/*.kube.test.ts'], inTurn: true, timeoutSeconds: 300 },
  {
    name: 'installer',
    include: ['test/**/*.installer.test.ts'],
    inTurn: true,
    timeoutSeconds: 300,
  },
  { name: 'image', include: ['test/**/*.image.test.ts'], inTurn: true, timeoutSeconds: 600 },
  { name: 'guest', include: ['test/**/*.guest.test.ts'], inTurn: true, timeoutSeconds: 1200 },
];

export default defineConfig({
  test: {
    projects: suites.map(
      ({
        name,
        include,
        setupFiles,
        inTurn,
        atOnce,
        sharesModules,
        nodeOptions,
        timeoutSeconds,
      }) => ({
        test: {
          name,
          include: [...include],
          setupFiles: [...(setupFiles ?? [])],
          fileParallelism: inTurn !== true,
          ...(atOnce === undefined ? {} : { maxConcurrency: atOnce }),
          isolate: sharesModules !== true,
          execArgv: [...(nodeOptions ?? [])],
          sequence: { shuffle: inTurn !== true },
          testTimeout: (timeoutSeconds ?? 10) * 1000,
          hookTimeout: (timeoutSeconds ?? 10) * 1000,
          // A busy machine makes what is waited for late, and a test that fails may take its time.
          expect: { poll: { timeout: (timeoutSeconds ?? 10) * 250 } },
        },
      }),
    ),
  },
});
