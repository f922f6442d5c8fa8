import { internalAddresses, readinessOf } from '../../cluster/node.ts';
import { seconds } from '../../model/duration.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';
import { hostOfNode, hostReportsOf, knownHostsOf, type ReportEnd } from './inventory-hosts.ts';
import type { ReadyNodes } from './report-joined.ts';
import type { Tasks } from './tasks.ts';

/** A node of the role that is waited for. */
export interface JoiningNode {
  readonly name: string;
  /** Why it does not count yet; undefined for a node that counts. */
  readonly missing?: string;
}

/** Decides which nodes count as joined, and reports them to the inventory service. */
export interface Joining {
  /** Requests the hosts before the first node is Ready, which saves time then. */
  readonly prepare: () => void;
  /** Whether a node counts; starts in the background what is missing for it to count. */
  readonly statusOf: (node: KubeObject) => JoiningNode;
  /** Ready nodes whose report the service has not answered yet. */
  readonly unreported: () => ReadyNodes['nodes'];
}

/** How long a report is tried before its node counts all the same; with the pause of a poll, 10 s. */
const reportTimeout = seconds(5);

/** Without an inventory service a Ready node counts as it is. */
const readyCounts: Joining = {
  prepare: () => undefined,
  statusOf: (node) => {
    const readiness = readinessOf(node);
    const { name } = node.metadata;
    return readiness.isReady ? { name } : { name, missing: `NotReady, ${readiness.reason}` };
  },
  unreported: () => [],
};

/**
 * Decides for one wait which nodes count. A node counts when it is Ready and the service knows that
 * its host has joined, or did not answer in time; it is reported later then. A refused report (409)
 * counts too: another has reported it, or the service will never accept it. A host that the service
 * does not list never counts: it is none of this cluster. A node that counted once always counts,
 * because kubelets drop out for a moment when the API server moves.
 */
export function joiningOf(scope: StepScope<'inventory' | 'clock'>, tasks: Tasks): Joining {
  if (scope.config.service.url.isEmpty) return readyCounts;
  const known = knownHostsOf(scope, tasks);
  const reports = hostReportsOf(scope, tasks);
  const counted = new Set<string>();
  const ready = new Map<string, ReadyNode>();

  const isReported = (host: InventoryHost): boolean =>
    host.status === 'installed' || typeof reports.endOf(host) === 'string';

  const hostOf = (node: ReadyNode): InventoryHost | 'unlisted' | 'unknown' => {
    const index = known.index();
    return index === undefined ? 'unlisted' : (hostOfNode(node, index) ?? 'unknown');
  };

  const missingOf = (object: KubeObject): string | undefined => {
    const readiness = readinessOf(object);
    if (!readiness.isReady) return `NotReady, ${readiness.reason}`;
    const { name } = object.metadata;
    const addresses = internalAddresses(object);
    const node = ready.get(name) ?? { name, addresses, since: scope.clock.elapsed() };
    ready.set(name, node);
    const host = hostOf(node);
    if (typeof host === 'string') known.ask();
    else if (isReported(host)) return undefined;
    else reports.send(host, 'Joined');
    if (host === 'unknown') return 'Ready, unknown to the inventory service';
    if (scope.clock.elapsed() - node.since >= reportTimeout) return undefined;
    return host === 'unlisted' ? hostsUnlisted(known.lastError()) : unreported(reports.endOf(host));
  };

  return {
    prepare: () => {
      if (known.hosts() === undefined) known.ask();
    },
    statusOf: (node) => {
      const { name } = node.metadata;
      if (counted.has(name)) return { name };
      const missing = missingOf(node);
      if (missing === undefined) counted.add(name);
      return missing === undefined ? { name } : { name, missing };
    },
    unreported: () =>
      [...ready.values()]
        .filter((node) => {
          const host = hostOf(node);
          return host === 'unlisted' || (host !== 'unknown' && !isReported(host));
        })
        .map(({ name, addresses }) => ({ name, addresses: [...addresses] })),
  };
}

type ReadyNode = Pick<ReadyNodes['nodes'][number], 'name'> & {
  readonly addresses: readonly string[];
  /** When it was seen Ready first. */
  readonly since: number;
};

const hostsUnlisted = (lastError: string | undefined): string =>
  lastError === undefined
    ? 'Ready, the inventory service has not listed its hosts yet'
    : `Ready, the hosts of the inventory service cannot be listed (${lastError})`;

const unreported = (end: ReportEnd | undefined): string =>
  typeof end === 'object' ? `Ready, not reported yet (${end.failed})` : 'Ready, being reported';
