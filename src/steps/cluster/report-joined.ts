import { type HostIndex, hostIndexOf, hostOfNode } from '../../cluster/host-index.ts';
import * as z from 'zod';
import { type Fact, fact } from '../../engine/fact.ts';
import { asAgentError } from '../../engine/failures.ts';
import { type PollResult, silently, untilOf } from '../../engine/wait.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { hasService } from '../conditions.ts';
import { step, type StepScope } from '../step.ts';
import { longestWait } from './kube-watch.ts';

const ReadyNodesSchema = z.object({
  nodes: z.array(
    z.object({
      name: z.string(),
      /** Its addresses inside the cluster, by which its host is found where the name differs. */
      addresses: z.array(z.string()),
    }),
  ),
});

/** Nodes that counted as Ready before the service took the report that they have joined. */
export type ReadyNodes = z.infer<typeof ReadyNodesSchema>;

/** Masters whose report is still due. */
export const UnreportedMasters = fact('cluster.unreported-masters', ReadyNodesSchema);

/** Arbiters whose report is still due. */
export const UnreportedArbiters = fact('cluster.unreported-arbiters', ReadyNodesSchema);

const askEvery = seconds(30);

/** Reports the masters that joined while the service did not answer. */
export const reportMasters = lateReports('masters', UnreportedMasters);

/** Reports the arbiter that joined while the service did not answer. */
export const reportArbiters = lateReports('arbiters', UnreportedArbiters);

function lateReports(role: 'masters' | 'arbiters', of: Fact<ReadyNodes>) {
  return step({
    id: `cluster/report-${role}`,
    title: `Report the ${role} that joined while the service did not answer`,
    uses: ['inventory', 'clock'],
    needs: { ready: of },
    when: hasService,
    limit: longestWait + minutes(30),
    waitsFor: 'the service to answer again; not at all where it took each report',
    run: async (scope, { ready }) => {
      if (ready.nodes.length === 0) return;
      // Silently: the info of the stage belongs to the main sequence.
      const until = untilOf(scope.clock, scope.signal, silently);
      await until('each of them is reported', reporting(scope, ready.nodes), {
        every: askEvery,
        within: longestWait,
      });
    },
  });
}

type DueNodes = ReadyNodes['nodes'];

function reporting(
  { inventory, note }: StepScope<'inventory'>,
  nodes: DueNodes,
): (signal: AbortSignal) => Promise<PollResult<undefined>> {
  let due = nodes;
  const report = async (node: DueNodes[number], hosts: HostIndex, signal: AbortSignal) => {
    const host = hostOfNode(node, hosts);
    if (host?.status === 'installed') return;
    const unreported = `could not report stage Joined of ${node.name}`;
    if (host === undefined) {
      note('warn', unreported, { reason: 'it is on no host that the service knows' });
      return;
    }
    const { infraEnvId, id: hostId } = host;
    try {
      await inventory.report({ infraEnvId, hostId }, { stage: 'Joined', info: '' }, signal);
      note('info', `${node.name} is Joined, reported late`, { host: hostId });
    } catch (error) {
      const { isFinal, code, message } = asAgentError(error);
      if (signal.aborted || !isFinal) throw error;
      note('warn', unreported, { code, reason: message });
    }
  };
  return async (signal) => {
    try {
      const hosts = hostIndexOf(await inventory.enabledHosts(signal));
      for (const node of due) {
        await report(node, hosts, signal);
        due = due.filter((one) => one !== node);
      }
      return { done: undefined };
    } catch (error) {
      signal.throwIfAborted();
      return { status: asAgentError(error).message };
    }
  };
}
