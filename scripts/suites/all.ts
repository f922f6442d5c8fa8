import { runStaticChecks } from './static.ts';
import type { Lane, Suite } from './suite.ts';
import { runVitest } from './vitest.ts';

interface VitestSuite {
  readonly name: string;
  readonly about: string;
  readonly parts?: readonly string[];
  readonly needsBundle?: boolean;
  readonly lane?: Lane;
}

const vitestSuite = ({ name, about, parts, needsBundle, lane }: VitestSuite): Suite => ({
  name,
  about,
  parts: parts ?? [],
  needsBundle: needsBundle ?? false,
  lane: lane ?? 'programs',
  run: (output) => runVitest(name, output),
});

/** Every suite; the long ones of a lane come before those that another lane can take over. */
export const allSuites: readonly Suite[] = [
  {
    name: 'static',
    about: 'types, lint with fences, layout, dead code, the tree',
    parts: [],
    needsBundle: false,
    lane: 'programs',
    run: runStaticChecks,
  },
  vitestSuite({ name: 'unit', about: 'pure code and steps against fakes, in seconds' }),
  vitestSuite({ name: 'roles', about: 'each role: its plans, and a crash at every point' }),
  vitestSuite({
    name: 'contract',
    about: 'each port: one suite for the fake and the adapter',
    parts: ['apt-packages'],
  }),
  vitestSuite({
    name: 'cli',
    about: 'the built program: help, errors, exit codes',
    needsBundle: true,
  }),
  vitestSuite({
    name: 'process',
    about: 'real processes: nsenter, signals, locks, recorded traces',
    parts: ['apt-packages'],
    needsBundle: true,
  }),
  vitestSuite({
    name: 'lab',
    about: 'every scenario of the lab',
    parts: ['kube-api', 'kube-crds', 'kube-data'],
    needsBundle: true,
  }),
  vitestSuite({
    name: 'kube',
    about: 'the cluster port and its waits against a real API server',
    parts: ['apt-packages', 'kube-api', 'kube-crds', 'kube-data'],
  }),
  vitestSuite({
    name: 'oracle',
    about: 'Ignition and the names of builds against the Go implementations',
    parts: ['apt-packages', 'ignition-merge', 'layering-name'],
  }),
  vitestSuite({
    name: 'objects',
    about: 'the S3 adapter against a real S3 server',
    parts: ['s3-server'],
  }),
  vitestSuite({
    name: 'guest',
    lane: 'systems',
    about: 'whole installs in virtual machines with the real coreos-installer',
    parts: [
      'apt-packages',
      'qemu',
      'os-disk',
      'live-root',
      'agent-image-base',
      'os-image',
      'image-registry',
    ],
    needsBundle: true,
  }),
  vitestSuite({
    name: 'installer',
    lane: 'systems',
    about: 'the real coreos-installer on loop devices',
    parts: ['apt-packages', 'coreos-installer', 'tiny-disk'],
  }),
  vitestSuite({
    name: 'image',
    lane: 'systems',
    about: 'the shipped container image, built and run',
    parts: ['apt-packages', 'agent-image-base'],
    needsBundle: true,
  }),
];
