import { nodes } from '../../cluster/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import { noLimit } from '../reconcile.ts';
import { followedOne, gapIn } from '../cluster/kube-watch.ts';
import { changeNode } from './change-node.ts';
import { annotate, type NodeState, nodeState } from './node-object.ts';
import { isRebooting } from './prepare.ts';
import { nodeAgentStep, type NodeAgentScope } from './world.ts';

/** What failed last, until something else is desired. */
interface Failing {
  readonly desired: string;
  readonly count: number;
  /** When it is tried again, by the clock. */
  readonly at: Millis;
  readonly reason: string;
}

/** Where nobody notifies: a pod of the operator that goes, a pause that ends. */
const every: Millis = seconds(10);
const longestPause: Millis = minutes(5);

/** Keeps the node as its annotations desire it, for ever. */
export const keepNode = nodeAgentStep({
  id: 'node-agent/keep-node',
  title: 'Keep the node as its pool desires',
  uses: ['kube', 'host', 'clock'],
  limit: noLimit,
  waitsFor: 'The node has what its annotations desire.',
  run: async (scope) => {
    const { kube, until, config } = scope;
    const own = { kind: nodes, name: config.nodeName };
    const node = followedOne(kube, own);
    let failing: Failing | undefined;
    let leaves = false;
    await until<undefined>(
      `${config.nodeName} has what it should have`,
      async () => {
        const [object] = node.view().objects;
        const gap = gapIn(node.view());
        if (gap !== undefined) return { status: gap };
        if (object === undefined) return { status: 'there is no such node' };
        if (leaves) return { status: isRebooting };
        const state = nodeState(object);
        const desired = [state.desiredConfig, state.desiredImage].join(' ');
        if (failing?.desired === desired && scope.clock.elapsed() < failing.at) {
          return { status: failing.reason };
        }
        const reread = async (): Promise<NodeState> => {
          const found = await kube.get(own, scope.signal);
          return found === undefined ? {} : nodeState(found);
        };
        try {
          const status = await changeNode(scope, state, reread);
          failing = undefined;
          leaves = status === isRebooting;
          return { status };
        } catch (error) {
          scope.signal.throwIfAborted();
          const count = failing?.desired === desired ? failing.count + 1 : 0;
          const reason = await reportFailure(scope, state, error);
          const pause = Math.min(longestPause, every * 2 ** count);
          failing = { desired, count, at: scope.clock.elapsed() + pause, reason };
          return { status: reason };
        }
      },
      { watch: node.watch, every, within: noLimit },
    );
  },
});

/** Shows a failure at the node. What the API server refuses is no failure of the node, and cannot be shown there. */
async function reportFailure(
  scope: NodeAgentScope,
  state: NodeState,
  error: unknown,
): Promise<string> {
  const { code, message } = asAgentError(error);
  const reason = `${code}: ${message}`;
  if (code.startsWith('kube.')) return reason;
  try {
    await annotate(scope, state, { state: 'Degraded', reason });
  } catch (thrown) {
    scope.signal.throwIfAborted();
    const { code: cause } = asAgentError(thrown);
    scope.note('warn', 'the state of the node could not be written', { code: cause });
  }
  return reason;
}
