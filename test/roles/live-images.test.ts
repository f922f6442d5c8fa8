import { beforeAll, describe, expect, it } from 'vitest';
import { unknownTo } from '../live-images/check-argv.ts';
import { generations } from '../live-images/generations.ts';
import { describeRole, type PlannedStep } from '../../src/engine/describe.ts';
import type { Config } from '../../src/config/schema.ts';
import { chooseRole } from '../../src/roles/choose.ts';
import { commandHosts, runCommands } from './command-hosts.ts';
import { corners } from './corners.ts';

/** Every step of the role in a configuration. */
function plannedSteps(config: Config): readonly PlannedStep[] {
  const { items, always, follow } = describeRole(chooseRole(config), config);
  const main = items.flatMap((item) =>
    item.kind === 'step' ? [item.step] : item.lanes.flatMap(({ steps }) => steps),
  );
  return [...main, ...always, ...follow];
}

/** The first line of OpenShift 4 with these steps, by the prefix of their id. */
const firstLine: Readonly<Record<string, number>> = {
  // MachineOSConfig v1 came with 4.18.21.
  'layering/': 18,
  // The root of a live system that was made from the node image, which came with 4.19.
  'image/deploy-to-existing-root': 19,
  'image/check-inputs': 19,
  // A node image; if skopeo cannot inspect it, only its tag is checked.
  'image/choose: skopeo': 19,
};

const lineOf = (id: string): number =>
  Object.entries(firstLine).find(([begin]) => id.startsWith(begin))?.[1] ?? 0;

/**
 * Every command that a plan of any corner prints or that a host runs, and the first line that may
 * run it.
 */
const known = new Map<string, { readonly argv: readonly string[]; readonly line: number }>();
const learn = (step: string, argv: readonly string[]): void => {
  // A hook is the operator's own, not a program of the live image.
  if (step.endsWith('-hook')) return;
  const key = argv.join(' ');
  known.set(key, {
    argv,
    line: Math.min(lineOf(`${step}: ${key}`), known.get(key)?.line ?? Infinity),
  });
};

beforeAll(async () => {
  for (const { id, commands } of corners.flatMap(({ config }) => plannedSteps(config))) {
    // For some programs a plan knows no arguments.
    for (const argv of commands.filter(([, first]) => first !== '…')) learn(id, argv);
  }
  for (const host of Object.values(commandHosts))
    await runCommands(host, (step, argv) => {
      learn(step, argv);
      return undefined;
    });
});

describe.each(generations)('$name', (generation) => {
  it('supports every option of every command that may run on it', () => {
    const [, last] = generation.lines;
    const unknown = [...known.values()]
      .filter(({ line }) => line <= last)
      .flatMap(({ argv }) => unknownTo(argv, generation));
    expect([...new Set(unknown)]).toEqual([]);
  });
});

describe('an unsupported option', () => {
  const [oldest] = generations;
  it.each([
    [['lsblk', '--json', '--output', 'NAME,PARTN'], 'lsblk: nobody has looked up --output PARTN'],
    [
      ['coreos-installer', 'install', '--console', 'tty0'],
      'install --console needs coreos-installer 0.16.0',
    ],
    [['wipefs', '--lock', '/dev/sda'], 'wipefs: nobody has looked up --lock'],
    [['dd', 'of=/dev/sda', 'oflag=seek_bytes,fast'], 'dd: nobody has looked up oflag fast'],
    [['nvme', 'list'], 'nvme list is not among the known programs'],
  ])('is found in %j', (argv, finding) => {
    expect(unknownTo(argv, oldest!)).toEqual([expect.stringContaining(finding)]);
  });
});
