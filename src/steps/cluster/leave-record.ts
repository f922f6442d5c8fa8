import { etcdCluster, isOverridden, recordedBefore } from '../../cluster/etcd.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { isContained } from '../../lib/json.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { leavesRecord } from '../conditions.ts';
import { step, type StepScope } from '../step.ts';
import {
  type LeftHost,
  type LeftRecord,
  recordFailure,
  recordObject,
  recordRef,
} from './left-record.ts';
import { findOwnNode, listAddressesArgv } from './own-host.ts';

type LeaveScope = StepScope<'kube' | 'host' | 'inventory' | 'clock'>;

/** The API server goes away for a while whenever etcd gets or loses a member, as in a hand-over. */
const longestTry = minutes(15);
const tryAgainEvery = seconds(15);

/**
 * Leaves a record of what this host cannot do, as it is away by then, for the controller: to put
 * the settings of etcd back. Without a service the controller knows by it whose certificate
 * requests to approve, too. An installation does not end because of it: settings of etcd are put
 * back by their annotation as well.
 */
export const leaveRecord = step({
  id: 'cluster/leave-record',
  title: 'Leave a record of this host in the cluster',
  uses: ['kube', 'host', 'inventory', 'clock'],
  when: leavesRecord,
  limit: minutes(40),
  explain: () =>
    'for the controller, which is this program too; waits for the API server to take it, at most 15 minutes',
  preview: () => [listAddressesArgv],
  run: async (scope) => {
    try {
      await leave(scope);
    } catch (error) {
      scope.signal.throwIfAborted();
      const { code, message, hint } = asAgentError(error);
      scope.note('warn', `could not write the record ConfigMap: ${message}`, { code, hint });
    }
  },
});

async function leave(scope: LeaveScope): Promise<void> {
  const node = await ownNode(scope);
  await scope.until(
    'the record of this host is in the cluster',
    async (): Promise<PollResult<true>> => {
      try {
        await putRecord(scope, node);
        return { done: true };
      } catch (error) {
        scope.signal.throwIfAborted();
        const failure = asAgentError(error);
        if (!mayPass(failure)) throw failure;
        return { status: `the record of this host is not in the cluster yet (${failure.code})` };
      }
    },
    { every: tryAgainEvery, within: longestTry },
  );
  scope.note('info', `the controller waits for node ${node.node}`, {
    addresses: node.addresses.join(', '),
  });
}

/** An object that is refused for what it says (422) would be refused again. */
const mayPass = ({ kind, context }: AgentError): boolean =>
  kind === 'remote' && context['status'] !== 422;

/** @throws AgentError `cluster.record-not-left`, `kube.*` */
async function putRecord(
  { kube, signal }: LeaveScope,
  record: Omit<LeftRecord, 'isEtcdOverridden'>,
): Promise<void> {
  const etcd = await kube.get(etcdCluster, signal);
  const isEtcdOverridden =
    etcd !== undefined && (isOverridden(etcd) || recordedBefore(etcd) !== undefined);
  const object = recordObject({ ...record, isEtcdOverridden });
  try {
    await kube.create(recordRef, object, signal);
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== 'kube.conflict') throw error;
    const there = await kube.get(recordRef, signal);
    if (there !== undefined && !isContained(object, there)) {
      await kube.patch(recordRef, { type: 'merge', body: object }, signal);
    }
  }
  const left = await kube.get(recordRef, signal);
  if (left !== undefined && isContained(object, left)) return;
  throw recordFailure(
    'cluster.record-not-left',
    `ConfigMap ${recordRef.name} is ${left === undefined ? 'not there' : 'not as it was sent'}`,
  );
}

async function ownNode(
  scope: LeaveScope,
): Promise<Pick<LeftRecord, 'node' | 'addresses' | 'role' | 'hosts'>> {
  const node = await findOwnNode(scope);
  if (node === undefined) {
    throw recordFailure('cluster.record-not-left', 'the name of this host is unknown', {
      hint: 'set the host name in the inventory service, or by DHCP or DNS',
    });
  }
  const own = { node: node.name, addresses: node.addresses, role: 'master' };
  if (node.others.length === 0) return own;
  const others = node.others.map(({ name, addresses, stage }): LeftHost => ({
    name: name.toLowerCase(),
    addresses,
    ...(stage === undefined ? {} : { stage }),
  }));
  return { ...own, hosts: [{ name: node.name, addresses: node.addresses }, ...others] };
}
