import { expect, it } from 'vitest';
import { minutes } from '../../src/model/duration.ts';
import { type CommandFault, commandFaults, type CommandRow } from '../contract/faults/commands.ts';
import { agentCommands } from '../contract/faults/node-commands.ts';
import { changingNode } from '../support/agent-node.ts';
import { imageOf } from '../support/os-samples.ts';
import { commandName } from './command-name.ts';
import { faultyHost, type FaultOf } from './faulty-host.ts';

const step = 'node-agent/keep-node';
const rowOf: ReadonlyMap<string, CommandRow> = new Map(
  agentCommands.flatMap((row) => (row.where[step] ?? []).map((name) => [name, row])),
);
const faults = Object.keys(commandFaults) as CommandFault[];
type Node = ReturnType<typeof changingNode>;

/** Runs the agent of a node some of whose commands have a fault, as often as its host reboots. */
async function run(node: Node, faultOf: FaultOf): Promise<void> {
  const clock = { ...node.clock, busy: <Answer>(work: Promise<Answer>) => work };
  const host = faultyHost(node.host, { step, faultOf, clock });
  for (let runs = 0; runs < 3; runs += 1) {
    const stop = new AbortController();
    const ended = node.start({ host, signal: stop.signal });
    await node.passes(35, minutes(2));
    stop.abort(new Error('the pod ends'));
    await ended;
  }
}

/** The warnings of a node, and what it is degraded by. */
const saidBy = ({ annotations, events }: Node): readonly string[] => [
  annotations().reason ?? '',
  ...events.flatMap((event) =>
    event.type === 'note' && event.level === 'warn' ? [event.message] : [],
  ),
];

/** What came of a fault that the table does not say. */
async function violationOf(name: string, fault: CommandFault): Promise<readonly string[]> {
  const ending = rowOf.get(name)?.endings[fault];
  const node = changingNode();
  await run(node, (_, argv) => (commandName(argv) === name ? fault : undefined));
  const { state = '', reason = '' } = node.annotations();
  const cause = ending?.says ?? name.replace(/ .*$/, '');
  const isNamed = saidBy(node).some((text) => text.includes(cause));
  const isAsSaid = {
    ends: state === 'Degraded' && reason.startsWith(`${ending?.code}: `) && isNamed,
    warns: state === 'Done' && isNamed,
    continues: state === 'Done',
  };
  const violations =
    ending !== undefined && isAsSaid[ending.outcome] ? [] : [`${fault}: ${state} ${reason}`];
  await run(node, () => undefined);
  const { state: healed, currentConfig, currentImage } = node.annotations();
  expect({ healed, currentConfig, currentImage, fault }).toEqual({
    healed: 'Done',
    currentConfig: 'c2',
    currentImage: imageOf('2'),
    fault,
  });
  return violations;
}

it.each([...rowOf.keys()])(
  'ends as the table says, and continues without the fault: %s',
  async (name) => {
    const violations = [];
    for (const fault of faults) violations.push(...(await violationOf(name, fault)));
    expect(violations).toEqual([]);
  },
  20_000,
);

it('runs every command of the table, and no other', async () => {
  const node = changingNode();
  await run(node, () => undefined);
  const names = new Set(node.host.ran.map(commandName));
  expect([...names].sort()).toEqual([...rowOf.keys()].sort());
});
