import { hostOfNode, hostReportsOf, knownHostsOf, type ReportEnd } from './inventory-hosts.ts';
import { readinessOf } from '../../cluster/node.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';
import type { Tasks } from './tasks.ts';

/** A node of the role that is waited for. */
export interface JoiningNode {
  readonly name: string;
  /** Why it does not count yet; undefined for a node that counts. */
  readonly missing?: string;
}

/** Decides which nodes count as joined, and reports them to the inventory service. */
interface Joining {
  /** Requests the hosts before the first node is Ready, which saves time then. */
  readonly prepare: () => void;
  /** Whether a node counts; starts in the background what is missing for it to count. */
  readonly statusOf: (node: KubeObject) => JoiningNode;
}

/** Without an inventory service a Ready node counts as it is. */
const readyCounts: Joining = {
  prepare: () => undefined,
  statusOf: (node) => {
    const readiness = readinessOf(node);
    const { name } = node.metadata;
    return readiness.isReady ? { name } : { name, missing: `NotReady, ${readiness.reason}` };
  },
};

/**
 * Decides for one wait which nodes count. A node counts when it is Ready and the service knows that
 * its host has joined. Until then the service may still fail the host, and only the bootstrap host
 * can report it before the controller runs. A refused report (409) counts too: another has reported
 * it, or the service will never accept it. A node that counted once always counts, because kubelets
 * drop out for a moment when the API server moves.
 */
export function joiningOf(scope: StepScope<'inventory'>, tasks: Tasks): Joining {
  if (scope.config.service.url === '') return readyCounts;
  const known = knownHostsOf(scope, tasks);
  const reports = hostReportsOf(scope, tasks);
  const counted = new Set<string>();

  const missingOf = (node: KubeObject): string | undefined => {
    const readiness = readinessOf(node);
    if (!readiness.isReady) return `NotReady, ${readiness.reason}`;
    const index = known.index();
    const host = index === undefined ? undefined : hostOfNode(node, index);
    if (host === undefined) {
      known.ask();
      return index === undefined
        ? hostsUnlisted(known.lastError())
        : 'Ready, unknown to the inventory service';
    }
    const end = reports.endOf(host);
    if (host.status === 'installed' || end === 'accepted' || end === 'refused') return undefined;
    reports.send(host, 'Joined');
    return unreported(end);
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
  };
}

const hostsUnlisted = (lastError: string | undefined): string =>
  lastError === undefined
    ? 'Ready, the inventory service has not listed its hosts yet'
    : `Ready, the hosts of the inventory service cannot be listed (${lastError})`;

const unreported = (end: Exclude<ReportEnd, string> | undefined): string =>
  end === undefined ? 'Ready, being reported' : `Ready, not reported yet (${end.failed})`;
