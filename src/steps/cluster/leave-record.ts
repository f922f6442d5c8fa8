import * as z from 'zod';
import { etcdCluster, isOverridden, recordedBefore } from '../../cluster/etcd.ts';
import { asAgentError, noteFailed } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { canonicalAddress } from '../../lib/address.ts';
import { isContained, jsonIn } from '../../lib/json.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import { leavesRecord } from '../conditions.ts';
import { readHostname, unreadableOutput } from '../host-commands.ts';
import { step, type StepScope } from '../step.ts';
import { clusterFailure } from './failures.ts';
import { askBriefly } from './inventory-hosts.ts';
import { type LeftHost, type LeftRecord, recordObject, recordRef } from './left-record.ts';

type LeaveScope = StepScope<'kube' | 'host' | 'inventory' | 'clock'>;

/**
 * The API server is unavailable for a while whenever etcd adds or removes a member, as in a
 * hand-over.
 */
const longestTry = minutes(15);
const tryAgainEvery = seconds(15);

/** Lists the addresses at which others can reach this host. */
const listAddressesArgv = ['ip', '-json', 'address', 'show', 'scope', 'global'] as const;

/**
 * Writes a record for the controller of the work that remains when this host has left: restoring
 * the etcd override. Without a service the record also names the host whose certificate
 * requests the controller approves. A failure does not end the installation: the annotation of the
 * etcd override suffices for its restoration.
 */
export const leaveRecord = step({
  id: 'cluster/leave-record',
  title: 'Leave a record of this host in the cluster',
  uses: ['kube', 'host', 'inventory', 'clock'],
  when: leavesRecord,
  limit: minutes(40),
  explain: () =>
    "for Bootwright's controller; waits until the API server accepts it, at most 15 minutes",
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

/** An object that the API server refuses for its content (422) would be refused again. */
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
  throw clusterFailure(
    'cluster.record-not-left',
    `ConfigMap ${recordRef.name} is ${left === undefined ? 'not there' : 'not as it was sent'}`,
  );
}

/**
 * The node of this host and the other hosts of the cluster, from the inventory service. The node
 * gets the name that the service has for the host; values that the service does not have come from
 * the host itself.
 * @throws AgentError `cluster.record-not-left` if its name is unknown
 */
async function ownNode(scope: LeaveScope): Promise<Omit<LeftRecord, 'isEtcdOverridden'>> {
  const listed = await listedHosts(scope);
  const isOwn = ({ id }: InventoryHost): boolean => id === scope.config.cluster.hostId;
  const known = listed.find(isOwn);
  const named = known?.name ?? '';
  const name = (named === '' ? await readHostname(scope) : named).toLowerCase();
  if (name === '') {
    throw clusterFailure('cluster.record-not-left', 'the name of this host is unknown', {
      hint: 'set the host name in the inventory service, or by DHCP or DNS',
    });
  }
  const found = known?.addresses ?? [];
  const all = (found.length > 0 ? found : await hostAddresses(scope)).map(canonicalAddress);
  const addresses = [...new Set(all.filter((address) => address !== undefined))];
  const own = { node: name, addresses, role: 'master' };
  const others = listed
    .filter((host) => !isOwn(host))
    .map((host): LeftHost => ({
      name: host.name.toLowerCase(),
      addresses: host.addresses,
      stage: host.stage,
    }));
  return others.length === 0 ? own : { ...own, hosts: [{ name, addresses }, ...others] };
}

async function listedHosts(
  scope: StepScope<'inventory' | 'clock'>,
): Promise<readonly InventoryHost[]> {
  const { service, cluster } = scope.config;
  if (service.url.isEmpty || cluster.hostId === '') return [];
  try {
    return await askBriefly(scope, scope.inventory.enabledHosts);
  } catch (error) {
    noteFailed(scope, 'the inventory service does not answer for this host', error);
    return [];
  }
}

async function hostAddresses(scope: StepScope<'host'>): Promise<readonly string[]> {
  const { host, signal } = scope;
  try {
    const { stdout } = await host.exec(listAddressesArgv, { signal, limit: minutes(2) });
    if (jsonIn(stdout) === undefined) throw unreadableOutput('ip', 'list of addresses', stdout);
    return parseAddresses(stdout);
  } catch (error) {
    noteFailed(scope, 'the addresses of this host cannot be listed', error);
    return [];
  }
}

const Links = z.array(
  z.object({
    addr_info: z
      .array(
        z.object({
          family: z.string(),
          local: z.string(),
          prefixlen: z.number(),
          dynamic: z.boolean().optional(),
        }),
      )
      .default([]),
  }),
);

const wholeLength: Readonly<Record<string, number>> = { inet: 32, inet6: 128 };

/**
 * Parses `ip -json address`. The bootstrap host holds the address of the cluster's API for a while:
 * keepalived sets it without a network prefix and without a lease, and it is never an address of
 * the node.
 */
export function parseAddresses(output: string): readonly string[] {
  const links = Links.safeParse(jsonIn(output)).data ?? [];
  return links
    .flatMap(({ addr_info: addresses }) => addresses)
    .filter(
      ({ family, prefixlen, dynamic }) => prefixlen !== wholeLength[family] || dynamic === true,
    )
    .map(({ local }) => local);
}
