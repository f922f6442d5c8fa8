import { readRequest } from '../../cluster/csr/read-request.ts';
import { certificateSigningRequests, nodes as nodeKind } from '../../kube/kinds.ts';
import { readinessOf, readyMasters } from '../../cluster/node.ts';
import type { PollResult } from '../../engine/wait.ts';
import { noteFailed } from '../../engine/failures.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { InstallingCluster, InstallingHost, Inventory } from '../../ports/inventory.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import {
  followed,
  followedOne,
  gapAmong,
  longestWait,
  together,
} from '../../steps/cluster/kube-watch.ts';
import {
  type LeftHost,
  type LeftRecord,
  readRecord,
  recordRef,
} from '../../steps/cluster/left-record.ts';
import { NewCluster } from './new-cluster.ts';
import { controllerStep } from './step.ts';

// Without an inventory service the controller knows of one host, that of the record.

/**
 * The cluster as the record of the bootstrap host shows it: it has that host alone, whose node is
 * still to come. So the requests of no other host are approved.
 */
export const recordedInstallation = (kube: Kube): Pick<Inventory, 'follow' | 'refresh'> => ({
  follow: async (seen, signal) => {
    const records = followedOne(kube, recordRef);
    const show = (): void => seen({ cluster: clusterOf(recordIn(records.view().objects)) });
    show();
    await records.watch(show, signal);
  },
  refresh: () => undefined,
});

/**
 * The hosts of a cluster as its bootstrap host has recorded them: itself, and those that a service
 * had listed.
 */
export function recordedHosts({
  node,
  addresses,
  hosts = [],
}: LeftRecord): readonly InstallingHost[] {
  const constant = { infraEnvId: '', role: '', status: 'installing', labels: {}, pool: '' };
  const others = hosts.filter(({ name }) => name !== node);
  return [{ name: node, addresses }, ...others].map(({ stage = '', name, ...host }: LeftHost) => ({
    ...constant,
    ...host,
    id: name,
    name,
    stage,
  }));
}

const clusterOf = (record: LeftRecord | undefined): InstallingCluster => ({
  id: '',
  kind: 'Cluster',
  name: '',
  baseDomain: '',
  status: 'installing',
  hosts: record === undefined ? [] : recordedHosts(record),
});

/** The record; undefined if absent, or none that can be read: `controller/do-left-work` says so. */
export function recordIn([found]: readonly KubeObject[]): LeftRecord | undefined {
  try {
    return found && readRecord(found);
  } catch {
    return undefined;
  }
}

/** Where nobody says the number, as in most clusters. */
const usualMasters = 3;

/**
 * Waits until the bootstrap host has joined the cluster as one of its nodes; then nobody needs the
 * controller any more.
 */
export const waitForBootstrapHost = controllerStep({
  id: 'controller/wait-for-bootstrap-host',
  title: 'Wait for the bootstrap host to join the cluster',
  uses: ['kube', 'clock'],
  needs: { cluster: NewCluster },
  limit: longestWait + minutes(10),
  run: async (scope, { cluster }) => {
    const { kube, clock, config, until, note } = scope;
    note(
      'info',
      'there is no inventory service: what the bootstrap host has left is done, no more',
    );
    const records = followedOne(kube, recordRef);
    const requests = followed(kube, { kind: certificateSigningRequests });
    const nodes = followed(kube, { kind: nodeKind });
    const { controlPlaneReplicas: said = config.cluster.controlPlaneCount } = cluster;
    const masters = said === 0 ? usualMasters : said;
    let readySince: Millis | undefined;
    const poll = (): Promise<PollResult<string>> => {
      const gap = gapAmong(records, requests, nodes);
      if (gap !== undefined) return Promise.resolve({ status: gap });
      const record = recordIn(records.view().objects);
      const seen = { record, nodes: nodes.view().objects, requests: requests.view().objects };
      const now = clock.elapsed();
      readySince = ownReadiness(seen)?.isReady === true ? (readySince ?? now) : undefined;
      const readyFor = readySince === undefined ? 0 : now - readySince;
      return Promise.resolve(endOfHost({ ...seen, masters, readyFor }));
    };
    try {
      const end = await until('the bootstrap host has joined the cluster', poll, {
        watch: together(records.watch, requests.watch, nodes.watch),
        every: seconds(30),
        within: longestWait,
      });
      note('info', end);
    } catch (error) {
      noteFailed(scope, 'the bootstrap host has not joined; continuing without it', error);
    }
  },
});

/** Everything that is known of the bootstrap host at one moment. */
export interface HostSeen {
  readonly record: LeftRecord | undefined;
  readonly nodes: readonly KubeObject[];
  readonly requests: readonly KubeObject[];
  /** How many control-plane nodes the cluster is to have. */
  readonly masters: number;
  /** For how long its node has been seen Ready without a break. */
  readonly readyFor: Millis;
}

/**
 * A node that is Ready for so long and asks for nothing has what it needs: approved requests are
 * taken away after an hour, and another may have approved them before anybody looked here.
 */
export const quietTime: Millis = minutes(10);

const ownReadiness = ({ record, nodes }: Pick<HostSeen, 'record' | 'nodes'>) => {
  const own = nodes.find(({ metadata: { name } }) => name === record?.node);
  return own && readinessOf(own);
};

/**
 * Whether nothing is left to wait for, and what is missing. Without a record the host may be about
 * to leave one, unless all control-plane nodes are there: it is the last of them.
 */
export function endOfHost(seen: HostSeen): PollResult<string> {
  const { record, nodes, requests, masters, readyFor } = seen;
  if (record === undefined) {
    const ready = readyMasters(nodes);
    return ready >= masters
      ? { done: 'all control-plane nodes are Ready, and there is no record of a bootstrap host' }
      : {
          status: `no record of a bootstrap host; ${ready} of ${masters} control-plane nodes Ready`,
        };
  }
  const { node } = record;
  const readiness = ownReadiness(seen);
  if (readiness === undefined) return { status: `${node} has not joined` };
  if (!readiness.isReady)
    return { status: `${node} has joined and is not Ready: ${readiness.reason}` };
  const serving = requests
    .map(readRequest)
    .filter(({ servedUser }) => servedUser === `system:node:${node}`);
  const isServing = serving.some(({ state }) => state === 'approved');
  const isQuiet = readyFor >= quietTime && !serving.some(({ state }) => state === 'pending');
  return isServing || isQuiet
    ? { done: `node ${node} is Ready` }
    : { status: `${node} is Ready and waits for a serving certificate` };
}
