// Every command of every step fails twice, before and after its effect, on a host that keeps the
// effects.
import { describe, expect, it } from 'vitest';
import { AgentError } from '../../src/model/failure.ts';
import { memoryJournal } from '../support/memory-journal.ts';
import { commandHosts } from './command-hosts.ts';
import { cornerOf } from './corners.ts';
import type { CommandFault } from './machine-host.ts';
import { install, live } from './processes.ts';
import { type Host, newWorld, stateOf } from './world.ts';

const hosts: readonly (readonly [name: string, host: Host])[] = [
  ...[
    'a master of an appliance with LVM on its disk',
    'a single node with RAID on its disk and another to format',
    'a worker in the running root',
    'an arbiter with an image file, that ironic boots',
    'a worker with the image of its pool',
  ].map((name) => {
    const { host, prepare } = commandHosts[name] ?? expect.fail(name);
    // A host is installed here without its preparation.
    if (prepare !== undefined) expect.fail(`${name} is prepared`);
    return [name, host] as const;
  }),
  [
    'an arbiter that keeps a partition',
    {
      config: cornerOf('arbiter', { image: { writerArgs: ['--save-partlabel', 'data'] } }),
      plan: { disks: [{ name: 'sda', leftovers: 'data' }] },
    },
  ],
  [
    'a bootstrap host with a small disk and a large registry',
    {
      config: cornerOf('bootstrap', {}),
      plan: { registryKibibytes: 2048, disks: [{ name: 'sda', sizeGiB: 4 }] },
    },
  ],
];

/** The text of a failure and all its causes. */
const wordsOf = (error: unknown): string =>
  error instanceof Error
    ? `${error.message} ${JSON.stringify((error as AgentError).context)} ${wordsOf(error.cause)}`
    : '';

/** Installs a host on which one command fails twice; returns the violated rule. */
async function violationOf(
  host: Host,
  straight: unknown,
  { argv, fault }: { readonly argv: readonly string[]; readonly fault: CommandFault },
): Promise<string | undefined> {
  const world = newWorld(host);
  const journal = memoryJournal();
  const failing = argv.join(' ');
  let left = 2;
  const faultOf = (ran: readonly string[]): CommandFault | undefined => {
    if (left === 0 || ran.join(' ') !== failing) return undefined;
    left -= 1;
    return fault;
  };
  const warnings: string[] = [];
  for (let processes = 0; processes < 4; processes += 1) {
    const { error, events } = await live(world, {
      config: host.config,
      journal,
      commands: 1e6,
      faultOf,
    });
    for (const event of events) {
      if (event.type === 'note' && event.level === 'warn') warnings.push(event.message);
    }
    if (error === undefined) {
      if (JSON.stringify(stateOf(world)) === JSON.stringify(straight) || warnings.length > 0)
        return;
      return 'it leaves another state, and warns of nothing';
    }
    const isNamed = error instanceof AgentError && wordsOf(error).includes('the fault of a test');
    if (!isNamed) return `it hides the cause: ${wordsOf(error)}`;
  }
  return 'it never ends well';
}

describe.each(hosts)('%s', (_, host) => {
  it.each(['before', 'after'] as const)(
    'survives each command that fails twice %s its effect',
    async (fault) => {
      const { machine, life, state } = await install(host);
      expect(life.error).toBeUndefined();
      const all = new Map(machine.ran.map(({ argv }) => [argv.join(' '), argv]));
      const violations: string[] = [];
      for (const [words, argv] of all) {
        const violation = await violationOf(host, state, { argv, fault });
        if (violation !== undefined) violations.push(`${words}: ${violation}`);
      }
      expect(violations).toEqual([]);
      expect(all.size).toBeGreaterThan(15);
    },
    120_000,
  );
});

it('copies a registry that fills most of the disk at the third attempt', async () => {
  const config = cornerOf('master', {});
  const plan = { registryKibibytes: 120 * 1024, disks: [{ name: 'sda', sizeGiB: 4 }] };
  const world = newWorld({ config, plan });
  let tries = 0;
  const faultOf = ([, , script = '']: readonly string[]): CommandFault | undefined => {
    if (!script.startsWith('rsync')) return undefined;
    tries += 1;
    return tries < 3 ? 'before' : undefined;
  };
  const { error } = await live(world, { config, journal: memoryJournal(), commands: 1e6, faultOf });
  expect(error).toBeUndefined();
  expect(tries).toBe(3);
});
