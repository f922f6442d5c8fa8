import { expect, it } from 'vitest';
import { describeRole } from '../../src/engine/describe.ts';
import { AgentError } from '../../src/model/failure.ts';
import { nodeApply, nodeRollback } from '../../src/roles/node.ts';
import type { NodeRequest } from '../../src/steps/os/step.ts';
import { type CommandFault, commandFaults, type CommandRow } from '../contract/faults/commands.ts';
import { nodeCommands } from '../contract/faults/node-commands.ts';
import { operatorsNode } from '../support/applied-node.ts';
import { runOnNode } from '../support/core-os-node.ts';
import { imageOf } from '../support/os-samples.ts';
import { commandName } from './command-name.ts';
import { faultyHost, type FaultOf, workClock } from './faulty-host.ts';
import { withStepHosts } from './step-hosts.ts';

const request: NodeRequest = {
  image: imageOf('2'),
  kernelArguments: { append: [], remove: [] },
  records: true,
  reboots: true,
};

/** The commands of `bootwright node` that change a host. */
const orders = [
  { role: nodeApply, asked: request },
  { role: nodeRollback, asked: { ...request, image: '', records: false } },
] as const;
type Order = (typeof orders)[number];

const rowOf: ReadonlyMap<string, CommandRow> = new Map(
  nodeCommands.flatMap((row) =>
    Object.entries(row.where).flatMap(([step, commands]) =>
      commands.map((command): [string, CommandRow] => [`${step}: ${command}`, row]),
    ),
  ),
);

/** Runs an order on a node some of whose commands have a fault; how it ended, and what it said. */
async function run({ role, asked }: Order, faultOf: FaultOf) {
  const { host } = operatorsNode();
  host.on(['ostree', 'admin', 'status']).succeeds();
  const clock = workClock();
  const changed = withStepHosts(role, (step, own) => faultyHost(own, { step, clock, faultOf }));
  try {
    const { notes } = await runOnNode(changed, host, { ...asked, clock });
    return { code: undefined, said: notes.filter((note) => note.startsWith('warn')) };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return { code: error.code, said: [`${error.message} ${String(error.cause)}`] };
  }
}

const nameOf = (step: string, argv: readonly string[]): string => `${step}: ${commandName(argv)}`;

/** The commands that an order plans, and those that it runs. */
async function seenBy(order: Order): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  await run(order, (step, argv) => {
    seen.add(nameOf(step, argv));
    return undefined;
  });
  for (const item of describeRole(order.role, order.asked).items) {
    if (item.kind !== 'step') continue;
    for (const argv of item.step.commands) seen.add(nameOf(item.step.id, argv));
  }
  return seen;
}

/** What came of a fault that the table does not say. */
async function violationOf(
  order: Order,
  { name, fault }: { readonly name: string; readonly fault: CommandFault },
  known: readonly string[],
): Promise<readonly string[]> {
  const ending = rowOf.get(name)?.endings[fault];
  const { code, said } = await run(order, (step, argv) =>
    nameOf(step, argv) === name ? fault : undefined,
  );
  const news = said.filter((one) => !known.includes(one));
  const cause = ending?.says ?? name.replace(/^.*: (\S+).*$/, '$1');
  const isNamed = news.some((one) => one.includes(cause));
  const isAsSaid = {
    ends: code !== undefined && code === ending?.code && isNamed,
    warns: code === undefined && isNamed,
    continues: code === undefined && news.length === 0,
  };
  if (ending !== undefined && isAsSaid[ending.outcome]) return [];
  return [`${name}: ${fault}: ${code ?? ''} ${news.join('; ')}`];
}

it.each(orders)('$role.name ends as the table says', async (order) => {
  const straight = await run(order, () => undefined);
  expect(straight.code).toBeUndefined();
  const violations: string[] = [];
  for (const name of await seenBy(order)) {
    for (const fault of Object.keys(commandFaults) as CommandFault[]) {
      violations.push(...(await violationOf(order, { name, fault }, straight.said)));
    }
  }
  expect(violations).toEqual([]);
});

it('runs every command of the table', async () => {
  const seen = await Promise.all(orders.map(seenBy));
  expect([...rowOf.keys()].filter((name) => !seen.some((some) => some.has(name)))).toEqual([]);
});
