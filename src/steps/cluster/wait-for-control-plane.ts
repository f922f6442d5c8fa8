import type { Config } from '../../config/schema.ts';
import { all, condition } from '../../engine/condition.ts';
import { minutes } from '../../model/duration.ts';
import { type InventoryHost, isBeingInstalled } from '../../ports/inventory.ts';
import { hasService } from '../conditions.ts';
import { longestWait } from './kube-watch.ts';
import {
  furtherRequests,
  hostNames,
  hostStates,
  perRequest,
  servicePoll,
} from './request-budget.ts';
import { step } from '../step.ts';

/**
 * Version 1 of the service has no such stage for a worker: a worker reboots right after the write
 * (assisted-service, stages of a worker before version 2).
 */
const hasWorkerStage = condition<Config>(
  'the inventory service has API version 2',
  ({ service }) => service.api === 'v2',
);

/** Kind of an installed cluster to which an installation adds hosts. */
const dayTwo = 'AddHostsCluster';

/**
 * Waits until the control plane can serve a worker; a worker that reboots too early never joins.
 */
export const waitForControlPlane = step({
  id: 'cluster/wait-for-control-plane',
  title: 'Wait for two masters to finish installing',
  stage: 'Waiting for control plane',
  uses: ['inventory', 'reports', 'clock'],
  when: all(hasService, hasWorkerStage),
  limit: longestWait + minutes(30),
  explain: () =>
    'waits for two masters in stage Done, at most 24 hours; skipped for an existing cluster',
  run: async (scope) => {
    const { clock, inventory, reports, until } = scope;
    const mayAsk = furtherRequests(clock);
    const named = hostNames(inventory, mayAsk);
    let isDayTwo: boolean | undefined;
    let masters: readonly InventoryHost[] = [];
    /** Undefined until they are listed: a cluster without an arbiter gets none later. */
    let arbiters: readonly InventoryHost[] | undefined;
    let isArbitersTurn = false;
    const poll = servicePoll(scope, async (signal) => {
      isDayTwo ??= (await inventory.cluster(signal)).kind === dayTwo;
      if (isDayTwo) return { done: true };
      if (isArbitersTurn) arbiters = await inventory.hosts('arbiter', signal);
      else masters = await inventory.hosts('master', signal);
      // A failed list of arbiters does not delay the wait.
      if (arbiters === undefined && mayAsk())
        arbiters = await inventory.hosts('arbiter', signal).catch(() => undefined);
      signal.throwIfAborted();
      isArbitersTurn = !isArbitersTurn && (arbiters ?? []).length > 0;
      if (controlPlaneProgress([...masters, ...(arbiters ?? [])]).isReady) return { done: true };
      // If a cluster is cancelled, failed or reset, so are all its hosts. The service accepts any
      // info text for the current stage, so the wait asks by `confirm`.
      if (masters.some(isGivenUp) && mayAsk()) await reports.confirm(signal);
      return {
        status: controlPlaneProgress([
          ...(await named('master', masters, signal)),
          ...(await named('arbiter', arbiters ?? [], signal)),
        ]).status,
      };
    });
    await until('two masters are done', poll, { every: perRequest, within: longestWait });
  },
});

/** A host without a running or completed installation. */
const isGivenUp = (host: InventoryHost): boolean =>
  !isBeingInstalled(host) && host.status !== 'installed' && host.status !== 'disabled';

/**
 * Number of control-plane hosts that must be done before a worker reboots (assisted-installer, same
 * rule).
 */
const enough = 2;

/**
 * Decides whether the wait ends. Arbiters count as masters: of two masters and an arbiter one is
 * the bootstrap host, which cannot be done before the others. The status is for people: `1 of 2
 * masters are done: m2 is Joined`.
 */
function controlPlaneProgress(hosts: readonly InventoryHost[]) {
  const done = hosts.filter(({ stage }) => stage === 'Done').length;
  const others = hostStates(hosts.filter(({ stage }) => stage !== 'Done'));
  const missing = others.length === 0 ? 'no other master is known' : others.join(', ');
  return {
    isReady: done >= enough,
    status: `${done} of ${enough} masters are done: ${missing}`,
  };
}
