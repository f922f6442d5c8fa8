import { asAgentError } from '../../engine/failures.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  Installation,
  InstallationView,
  InstallingCluster,
  MonitoredOperator,
  ClusterOverview,
} from '../../ports/installation.ts';
import { type Follow, sharedFollows } from '../shared-follow.ts';
import { type Call, id, inventoryClient, type InventoryOptions } from './inventory-client.ts';

/** The service as the controller uses it, and the connections to it. */
export interface InstallationConnection extends Installation {
  readonly close: () => Promise<void>;
}

/** Retries of assisted-installer-controller, which repeats its calls by itself; an agent has no limit. */
const mostRetries = 15;
const fewer = (worth: number): number => Math.min(worth, mostRetries);

/** Of a call with its retries. */
const callLimit = minutes(2);

/** How long what the service said of its operators is not asked again. */
const operatorsAge: Millis = seconds(20);

/** The inventory service as the controller uses it; there is no version 1 of this. */
export function inventoryInstallation(options: InventoryOptions): InstallationConnection {
  const { clock, clusterId } = options;
  const client = inventoryClient(options, '/api/assisted-install/v2');
  const cluster = `clusters/${id(clusterId)}`;
  const usual = { hasRequestId: true, limit: callLimit, retries: fewer } as const;
  // The next request comes anyway.
  const once = { hasRequestId: true, limit: minutes(1), retries: () => 0 } as const;
  const send = (call: Pick<Call, 'method' | 'path' | 'body'>, signal: AbortSignal) =>
    client.send({ ...usual, ...call }, signal);
  const query = { 'exclude-hosts': 'false' };
  const asked: Call = { ...once, method: 'GET', path: cluster, query };
  const listed: Call = { ...usual, method: 'GET', path: `${cluster}/monitored-operators` };
  const known = kept(clock, (signal) => client.json(listed, 'operators', signal));
  return {
    ...clusterFollow(clock, (signal) => client.json(asked, 'installingCluster', signal)),
    close: client.close,
    reportFinalizing: (stage, signal) => {
      const body = { finalizing_stage: stage };
      return send({ method: 'PUT', path: `${cluster}/progress`, body }, signal);
    },
    operators: known.get,
    reportOperator: async ({ name, version, status, statusInfo }, signal) => {
      const body = {
        ...{ name, status },
        ...(version === '' ? {} : { version }),
        ...(statusInfo === '' ? {} : { status_info: statusInfo }),
      };
      try {
        await send({ method: 'PUT', path: listed.path, body }, signal);
      } finally {
        known.forget();
      }
    },
    uploadIngressCa: (body, signal) =>
      send({ method: 'POST', path: `${cluster}/uploads/ingress-cert`, body }, signal),
    complete: ({ isSuccess, error, data }, signal) => {
      const body = {
        is_success: isSuccess,
        ...(error === '' ? {} : { error_info: error }),
        ...(data === undefined ? {} : { data }),
      };
      return send(
        { method: 'POST', path: `${cluster}/actions/complete-installation`, body },
        signal,
      );
    },
    addEvent: ({ hostId, infraEnvId, ...event }, signal) => {
      const ids = { cluster_id: clusterId, host_id: hostId, infra_env_id: infraEnvId };
      const body = { ...event, ...ids, event_time: new Date(clock.now()).toISOString() };
      return send({ method: 'POST', path: 'events', body }, signal);
    },
  };
}

type Operators = readonly MonitoredOperator[];

/** Keeps an answer as long as it may be shown. */
function kept(
  clock: Clock,
  ask: (signal: AbortSignal) => Promise<Operators>,
): {
  readonly get: (signal: AbortSignal) => Promise<Operators>;
  readonly forget: () => void;
} {
  let last: { readonly operators: Operators; readonly at: Millis } | undefined;
  let forgotten = 0;
  return {
    get: async (signal) => {
      for (;;) {
        signal.throwIfAborted();
        if (last !== undefined && clock.elapsed() - last.at <= operatorsAge) return last.operators;
        const before = forgotten;
        const operators = await ask(signal);
        // What was asked before a report says nothing of it.
        if (before !== forgotten) continue;
        last = { operators, at: clock.elapsed() };
        return operators;
      }
    },
    forget: () => {
      last = undefined;
      forgotten += 1;
    },
  };
}

const usualPause: Millis = seconds(20);
/** However urgent it is to somebody, where the service answers within half a second. */
const shortestPause: Millis = seconds(5);

/** One request for all who follow, while anybody does; a later one starts with what was seen before. */
function clusterFollow(
  clock: Clock,
  ask: (signal: AbortSignal) => Promise<InstallingCluster>,
): Pick<Installation, 'follow' | 'refresh'> {
  const { sleep, answered, refresh } = pacer(clock);
  let view: InstallationView = {};
  const run: Follow<undefined, InstallationView> = async (_, show, signal) => {
    if (view.cluster !== undefined || view.lastError !== undefined) show(view);
    for (;;) {
      await sleep(signal);
      try {
        view = { cluster: await ask(signal) };
      } catch (error) {
        signal.throwIfAborted();
        view = { ...view, lastError: asAgentError(error) };
      }
      answered();
      show(view);
    }
  };
  const follow = sharedFollows(run, () => 'cluster');
  return { refresh, follow: (seen, signal) => follow(undefined, seen, signal) };
}

/** Says when the next request may be made: after the usual pause, or sooner where it is urgent. */
function pacer(clock: Clock): {
  readonly sleep: (signal: AbortSignal) => Promise<void>;
  readonly answered: () => void;
  readonly refresh: () => void;
} {
  let last: Millis | undefined;
  let took: Millis = 0;
  let isUrgent = false;
  let wake = (): void => undefined;
  const pause = async (since: Millis, signal: AbortSignal): Promise<void> => {
    const rest = (of: Millis): Millis => Math.max(0, since + of - clock.elapsed());
    // Thousands of hosts take seconds to be read: whoever is in a hurry must not keep a processor busy with it.
    const shortest = Math.min(usualPause, Math.max(shortestPause, 10 * took));
    await clock.sleep(rest(shortest), signal);
    if (isUrgent) return;
    const woken = new AbortController();
    wake = () => {
      woken.abort();
    };
    await clock.sleep(rest(usualPause), AbortSignal.any([signal, woken.signal])).catch(() => {
      signal.throwIfAborted();
    });
  };
  return {
    sleep: async (signal) => {
      if (last !== undefined) await pause(last, signal);
      isUrgent = false;
      last = clock.elapsed();
    },
    answered: () => {
      took = clock.elapsed() - (last ?? 0);
    },
    refresh: () => {
      isUrgent = true;
      wake();
    },
  };
}

/** Reads a cluster for somebody who watches it. */
export interface ClusterReader {
  /**
   * Asks once; whoever watches asks again.
   * @throws AgentError `inventory.*`
   */
  readonly read: (signal: AbortSignal) => Promise<ClusterOverview>;
  readonly close: () => Promise<void>;
}

/** Reads a cluster by version 2 of the service's interface, which has its hosts, operators and times in one answer. */
export function clusterReader(options: InventoryOptions): ClusterReader {
  const client = inventoryClient(options, '/api/assisted-install/v2');
  const call: Call = {
    method: 'GET',
    path: `clusters/${id(options.clusterId)}`,
    query: { 'exclude-hosts': 'false' },
    hasRequestId: true,
    limit: minutes(1),
    retries: () => 0,
  };
  return {
    read: (signal) => client.json(call, 'clusterOverview', signal),
    close: client.close,
  };
}
