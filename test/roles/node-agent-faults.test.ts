import { expect, it } from 'vitest';
import { minutes } from '../../src/model/duration.ts';
import { changingNode } from '../support/agent-node.ts';
import { imageOf } from '../support/os-samples.ts';
import { type CommandFault, faultyHost, type FaultOf } from './faulty-host.ts';

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

it.each([
  ['rpm-ostree rebase', 'missing', 'command.not-found'],
  ['rpm-ostree rebase', 'fails', 'command.failed'],
  ['rpm-ostree rebase', 'hangs', 'command.timed-out'],
  ['rpm-ostree status', 'garbage', 'os.status-not-read'],
  ['bootc status', 'hangs', 'os.busy'],
  ['skopeo inspect', 'fails', 'os.image-unreachable'],
] satisfies readonly [string, CommandFault, string][])(
  'is degraded if %s %s, and continues without the fault',
  async (name, fault, code) => {
    const node = changingNode();
    await run(node, (_, argv) => (argv.join(' ').startsWith(name) ? fault : undefined));
    expect(node.annotations()).toMatchObject({
      state: 'Degraded',
      reason: expect.stringContaining(`${code}: `) as string,
    });
    await run(node, () => undefined);
    expect(node.annotations()).toMatchObject({
      state: 'Done',
      currentConfig: 'c2',
      currentImage: imageOf('2'),
    });
  },
);
