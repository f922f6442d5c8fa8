import { hostOfNode, hostReportsOf, knownHostsOf, type ReportEnd } from './inventory-hosts.ts';
import { readinessOf } from '../../cluster/node.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';
import type { Tasks } from './tasks.ts';

/** A node of the role that is waited for. */
export interface JoiningNode {
  readonly name: string;
  /** Why it does not count yet; it counts without. */
  readonly missing?: string;
}

/** Brings Ready nodes and the inventory service together. */
export interface Joining {
  /** Asks for the hosts before the first node is Ready, so that no time is lost then. */
  readonly prepare: () => void;
  /** How a node stands; begins beside the wait what is missing for it to count. */
  readonly standingOf: (node: KubeObject) => JoiningNode;
}

/** Without an inventory service a Ready node counts as it is. */
const readyCounts: Joining = {
  prepare: () => undefined,
  standingOf: (node) => {
    const readiness = readinessOf(node);
    const { name } = node.metadata;
    return readiness.isReady ? { name } : { name, missing: `NotReady, ${readiness.reason}` };
  },
};

/**
 * Makes the joining of one wait. A node counts when it is Ready, the service knows its host, and
 * knows that it joined: until then the service may still give the host up, and the bootstrap host,
 * which is the only one to tell it before the controller runs, must not go away. A refusal (409) is
 * such knowledge too: another has told it, or it will never take it. What counted once counts on:
 * kubelets drop out for a moment when the API server moves.
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
        ? untold(known.trouble())
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
    standingOf: (node) => {
      const { name } = node.metadata;
      if (counted.has(name)) return { name };
      const missing = missingOf(node);
      if (missing === undefined) counted.add(name);
      return missing === undefined ? { name } : { name, missing };
    },
  };
}

const untold = (trouble: string | undefined): string =>
  trouble === undefined
    ? 'Ready, the inventory service has not told its hosts yet'
    : `Ready, the inventory service does not tell its hosts (${trouble})`;

const unreported = (end: Exclude<ReportEnd, string> | undefined): string =>
  end === undefined ? 'Ready, being reported' : `Ready, not reported yet (${end.failed})`;
