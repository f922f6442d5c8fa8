import { describe, expect, it } from 'vitest';
import { minutes } from '../../src/model/duration.ts';
import { changingNode } from '../support/agent-node.ts';
import { imageOf } from '../support/os-samples.ts';
import { commandName } from './command-name.ts';
import { type CommandFault, commandFaults, faultyHost, type FaultOf } from './faulty-host.ts';

const step = 'node-agent/keep-node';
type Node = ReturnType<typeof changingNode>;

/** Runs the agent of a node with faults in some commands, once per boot of its host. */
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

const names = await (async () => {
  const node = changingNode();
  await run(node, () => undefined);
  return [...new Set(node.host.ran.map(commandName))].sort();
})();

describe.each(names)('%s', (name) => {
  it.each(commandFaults)(
    '%s: ends with the cause, and continues without the fault',
    async (fault) => {
      const node = changingNode();
      await run(node, (_, argv) => (commandName(argv) === name ? fault : undefined));
      const { state = '', reason = '' } = node.annotations();
      if (state !== 'Done') {
        expect({ state, reason }).toMatchObject({
          state: 'Degraded',
          reason: expect.stringMatching(/^[a-z-]+\.[a-z-]+: /) as string,
        });
      }
      if (reason.startsWith('command.')) expect(reason).toContain(name.split(' ')[0]);
      await run(node, () => undefined);
      expect(node.annotations()).toMatchObject({
        state: 'Done',
        currentConfig: 'c2',
        currentImage: imageOf('2'),
      });
    },
    20_000,
  );
});

it.each([
  ['rpm-ostree rebase', 'missing', 'command.not-found'],
  ['rpm-ostree rebase', 'fails', 'command.failed'],
  ['rpm-ostree rebase', 'hangs', 'command.timed-out'],
  ['rpm-ostree status', 'garbage', 'os.status-not-read'],
  ['bootc status', 'hangs', 'os.busy'],
  ['skopeo inspect', 'fails', 'os.image-unreachable'],
] satisfies readonly [string, CommandFault, string][])(
  'is degraded where %s %s',
  async (name, fault, code) => {
    const node = changingNode();
    await run(node, (_, argv) => (commandName(argv) === name ? fault : undefined));
    expect(node.annotations()).toMatchObject({
      state: 'Degraded',
      reason: expect.stringContaining(`${code}: `) as string,
    });
  },
);
