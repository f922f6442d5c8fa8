import { ownArchitecture } from '../parts/agent-base.ts';

/** A part of the tests that can be run by its name. */
export interface Suite {
  readonly name: string;
  /** Its description for `--list`. */
  readonly about: string;
  /** Real parts that it runs against; they are built before it starts. */
  readonly parts?: readonly string[];
  /**
   * It runs when it is named, and not among all others: it takes too long, or may fail for a reason
   * that is not ours.
   */
  readonly isByNameOnly?: true;
  /** Whether it runs the built program. */
  readonly needsBundle?: true;
  /** It keeps both of two cores busy: it counts as two suites of those that run at once. */
  readonly hasGuests?: true;
  /** The vitest project; the static suite has none. */
  readonly tests?: VitestProject;
}

/** A suite as a project of vitest. */
export interface VitestProject {
  readonly include: readonly string[];
  readonly setupFiles?: readonly string[];
  /** How many files run at once, in their order: real programs and guests share two cores. */
  readonly filesAtOnce?: number;
  /** How many tests of a file run at once, of those that may. */
  readonly atOnce?: number;
  /**
   * The files share their modules: loading those for each file is most of the work of quick tests.
   */
  readonly sharesModules?: true;
  /** Options of the Node that runs the tests. */
  readonly nodeOptions?: readonly string[];
  /** Variables of the environment of the tests. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutSeconds?: number;
}

const guestParts = [
  ...['apt-packages', 'qemu', 'os-disk', 'live-root', 'os-image'],
  ...['image-registry', 'network-live', `agent-base-${ownArchitecture}`],
];

const capiTests = { include: ['test/**/*.capi.test.ts'], filesAtOnce: 1, timeoutSeconds: 300 };

/**
 * Every suite. Those that take longest come first, because the others run beside them; those that
 * mostly wait run beside the guests.
 */
export const allSuites: readonly Suite[] = [
  {
    name: 'guest',
    about: 'whole installs in virtual machines with the real coreos-installer',
    parts: [...guestParts, 'kube-api', 'kube-crds', 'kube-data', 'capi'],
    needsBundle: true,
    hasGuests: true,
    tests: { include: ['test/**/*.guest.test.ts'], filesAtOnce: 1, timeoutSeconds: 1200 },
  },
  {
    name: 'lab',
    about: 'every scenario of the lab, an installation behind a proxy, configurations of deploy',
    parts: ['apt-packages', 'kube-api', 'kube-crds', 'kube-data'],
    needsBundle: true,
    tests: { include: ['test/lab/**/*.test.ts'], filesAtOnce: 1, atOnce: 3, timeoutSeconds: 300 },
  },
  {
    name: 'capi',
    about: 'both providers with the real Cluster API core, and infrastructure in memory',
    parts: ['kube-api', 'kube-crds', 'kube-data', 'kubectl', 'capi'],
    needsBundle: true,
    tests: capiTests,
  },
  {
    name: 'nodes',
    about: 'a pool of two virtual machines that gets another image',
    parts: [...guestParts, 'kube-api', 'kube-crds', 'kube-data'],
    needsBundle: true,
    hasGuests: true,
    tests: { include: ['test/**/*.nodes.test.ts'], filesAtOnce: 1, timeoutSeconds: 1200 },
  },
  {
    name: 'process',
    about: 'real processes: nsenter, signals, locks, recorded traces',
    parts: ['apt-packages', 'older-npm', 'coreos-installer'],
    needsBundle: true,
    tests: { include: ['test/process/**/*.test.ts'], filesAtOnce: 1, timeoutSeconds: 120 },
  },
  {
    name: 'kube',
    about: 'the cluster port and its waits against a real API server',
    parts: ['apt-packages', 'kube-api', 'kube-crds', 'kube-data', 'kubectl'],
    needsBundle: true,
    tests: { include: ['test/**/*.kube.test.ts'], filesAtOnce: 2, timeoutSeconds: 300 },
  },
  {
    name: 'image',
    about: 'the shipped container image, and OS images of pools, built and run',
    parts: [
      ...['apt-packages', 'agent-base-amd64', 'agent-base-arm64', 'debian-root'],
      ...['image-registry', 'kube-api', 'kube-crds', 'kube-data'],
      ...['coreos-installer', 'tiny-disk', 's3-server'],
    ],
    needsBundle: true,
    tests: { include: ['test/**/*.image.test.ts'], filesAtOnce: 1, timeoutSeconds: 600 },
  },
  {
    name: 'installer',
    about: 'the real coreos-installer on loop devices',
    parts: [
      ...['apt-packages', 'coreos-installer', 'tiny-disk', 'live-root'],
      ...['nmstatectl', 'network-manager'],
    ],
    tests: { include: ['test/**/*.installer.test.ts'], filesAtOnce: 1, timeoutSeconds: 300 },
  },
  { name: 'static', about: 'types, lint with fences, layout, dead code, the tree' },
  {
    name: 'unit',
    about: 'pure code and steps against fakes, in seconds',
    tests: {
      include: ['{src,mocks,scripts}/**/*.test.ts', 'test/guest/{rig,lab}/*.test.ts'],
      setupFiles: ['test/setup.unit.ts'],
      sharesModules: true,
      // A crash at any await of a node takes seconds, and as many more as the other suites leave it
      // little of a processor.
      timeoutSeconds: 60,
    },
  },
  {
    name: 'parsers',
    about: 'each reader of a text: a time that grows as the text does, and forged input',
    tests: { include: ['test/parsers/**/*.test.ts'], timeoutSeconds: 120 },
  },
  {
    name: 'roles',
    about: 'each role: its plans, and a crash at every point',
    tests: {
      include: ['test/roles/**/*.test.ts'],
      setupFiles: ['test/setup.unit.ts', 'test/setup.roles.ts'],
      sharesModules: true,
      // Thousands of short runs: most of what they leave is garbage before it has to be moved.
      nodeOptions: ['--max-semi-space-size=64'],
      timeoutSeconds: 300,
    },
  },
  {
    name: 'contract',
    about: 'each port: one suite for the fake and the adapter',
    parts: ['apt-packages'],
    tests: { include: ['test/contract/**/*.test.ts'], timeoutSeconds: 60 },
  },
  {
    name: 'cli',
    about: 'the built program: help, errors, exit codes',
    parts: ['apt-packages'],
    needsBundle: true,
    tests: { include: ['test/cli/**/*.test.ts'], timeoutSeconds: 60 },
  },
  {
    name: 'guides',
    about: 'the guides: their commands are run, and print what the guides show',
    parts: ['apt-packages', 'butane', 'coreos-installer'],
    needsBundle: true,
    tests: { include: ['test/guides/*.test.ts'], filesAtOnce: 1, timeoutSeconds: 120 },
  },
  {
    name: 'page',
    about: 'the page of an installation in a real browser: widths, keys, axe',
    parts: ['browser'],
    needsBundle: true,
    tests: { include: ['test/page/**/*.test.ts'], filesAtOnce: 1, timeoutSeconds: 180 },
  },
  {
    name: 'oracle',
    about: 'Ignition, Butane and the names of builds against the Go implementations',
    parts: ['apt-packages', 'ignition-merge', 'layering-name', 'butane'],
    tests: { include: ['test/**/*.oracle.test.ts'], timeoutSeconds: 300 },
  },
  {
    name: 'objects',
    about: 'the S3 adapter against a real S3 server',
    parts: ['s3-server'],
    tests: { include: ['test/**/*.objects.test.ts'], timeoutSeconds: 60 },
  },
  {
    name: 'capi-1.13',
    about:
      'by its name alone: the suite capi with the core of the minor version before, and its upgrade',
    parts: ['kube-api', 'kube-crds', 'kube-data', 'kubectl', 'capi', 'capi-1.13'],
    needsBundle: true,
    isByNameOnly: true,
    tests: {
      ...capiTests,
      include: [...capiTests.include, 'test/**/*.capi-1.13.test.ts'],
      env: { CLUSTER_API: '1.13' },
    },
  },
];
