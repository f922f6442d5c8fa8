// A running cluster: `decide` turns events into actions, which run in order.
import { simulateUnits } from './bootstrap-units.ts';
import { bootIds, startKubelet, tenants } from './kubelet.ts';
import {
  type ClusterState,
  type Action,
  type ClusterEvent,
  endedWaits,
  hasLeft,
  unborn,
} from './cluster-state.ts';
import { type DayOutcome, type DayPlan, runDayAfter } from './day-2/day-after.ts';
import { decide } from './decide.ts';
import type { Strike } from '../http/fault.ts';
import type { KubeClient } from '../kube/client.ts';
import { perform } from './actions.ts';
import { runController } from './controller-pod.ts';
import { forgeryComplaints } from './forged.ts';
import { kinds } from './objects.ts';
import { controllerNamespace, leftRecord } from './pods.ts';
import type { ApiServer } from '../kube/control-plane.ts';
import { serveConfig } from './layering/config-server.ts';
import { verifyLayering } from './layering/verify.ts';
import { runControllers } from './layering/run-controllers.ts';
import { isOverridden } from './etcd.ts';
import { lastStep } from './operators.ts';
import { observe } from './observe.ts';
import type { ClusterSite, ClusterWork } from './site.ts';

/** A cluster in a run. */
export type RunningCluster = Awaited<ReturnType<typeof runCluster>>;

const HELD_SECONDS = 0.1;

/** Runs a cluster until it is disposed of. Its bootstrap host starts it by starting bootkube. */
export async function runCluster(site: ClusterSite) {
  const { plan } = site;
  const closing = new AbortController();
  const timers = new Set<NodeJS.Timeout>();
  const complaints: string[] = [];
  const struck: Strike[] = [];
  const logs = new Map<string, () => string>();
  const kubelet = await startKubelet((pod) => logs.get(pod)?.() ?? '');
  let state = unborn(plan);
  let final: Promise<ApiServer> | undefined;
  let controller: Promise<void> | undefined;
  const operator = new AbortController();
  const work: ClusterWork = {
    ...site,
    kubelet,
    finalServer: () => (final ??= site.kube.startFinal()),
    state: () => state,
    logs,
    kills: { count: 0 },
    jobs: new Set(),
    bootIds: bootIds(),
    tenants: tenants(),
    hasServiceLeft: () =>
      site.invoker !== 'assisted-service' &&
      plan.members.some(({ isBootstrap, name }) => isBootstrap && hasLeft(state, name)),
    startController: () => {
      work.jobs.add('controller');
      controller ??= runController(work)
        .catch((error: unknown) => {
          if (!closing.signal.aborted) complaints.push(`the controller: ${String(error)}`);
        })
        .finally(() => work.jobs.delete('controller'));
    },
    complain: (what) => complaints.push(what),
    strike: (what) => struck.push({ at: Date.now(), what }),
    emit: (event) => {
      emit(event);
    },
    signal: closing.signal,
    operated: AbortSignal.any([closing.signal, operator.signal]),
  };
  let doing: Promise<void> = Promise.resolve();
  const later = ({ seconds, event }: Extract<Action, { kind: 'later' }>): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      void isHeld(event).then((isTooEarly) => {
        if (closing.signal.aborted) return;
        if (isTooEarly) later({ kind: 'later', seconds: HELD_SECONDS, event });
        else emit(event);
      });
    }, seconds * 1000);
    timers.add(timer);
  };
  /** Whether programs are still to see, or to do, what the event would end: they may be slow. */
  const isHeld = async (event: ClusterEvent): Promise<boolean> => {
    if (endedWaits(decide(state, event, plan)).some((step) => site.isHeld?.(step))) return true;
    if (event.kind === 'controller-pulled') return site.isUnsaid?.() === true;
    if (event.kind !== 'operators-due' || event.step < lastStep) return false;
    if (work.kills.count < (plan.controllerDies ?? []).length) return true;
    if (plan.forgesRequests !== true) return false;
    return forgeryComplaints(work).then(
      (complaints) => complaints.length > 0,
      () => true,
    );
  };
  const emit = (event: ClusterEvent): void => {
    if (closing.signal.aborted) return;
    const turn = decide(state, event, plan);
    ({ state } = turn);
    for (const action of turn.actions) {
      doing = doing.then(() => (action.kind === 'later' ? later(action) : tryAction(work, action)));
    }
  };
  simulateUnits(work, emit);
  const observing = observe(work, emit);
  const { layered } = work;
  const operated = { ...work, signal: work.operated };
  const controlling = layered === undefined ? undefined : runControllers(operated, layered);
  return {
    emit,
    state: (): ClusterState => state,
    /** Faults that have struck in it. */
    struck: struck as readonly Strike[],
    /** Reads its objects, as an administrator. */
    client: site.kube.client as Pick<KubeClient, 'watch'>,
    /** The machine-config-server's answer to a pool; undefined without a config. */
    served: (pool: string): Promise<string | undefined> =>
      state.isConfigServerUp ? serveConfig(work, pool) : Promise.resolve(undefined),
    /** Number of its running jobs. */
    runningJobs: (): number => work.jobs.size,
    /** The service ran on the bootstrap host, which has left for its cluster. */
    hasServiceLeft: work.hasServiceLeft,
    /**
     * Runs the day after its installation, without the Machine Config Operator.
     * @throws TypeError for a cluster that is not layered
     */
    dayAfter: async (day: Omit<DayPlan, 'endOperator'>): Promise<DayOutcome> => {
      if (layered === undefined) throw new TypeError('nothing is built for this cluster');
      const endOperator = async (): Promise<void> => {
        operator.abort(new Error('the operator is gone'));
        await controlling;
      };
      return runDayAfter(work, layered, { ...day, endOperator });
    },
    /** The logs of its pods. */
    podLogs: (): string => [...logs.values()].map((log) => log()).join(''),
    /** Forbidden actions in the cluster; the last of them come from the API server. */
    complaints: async (): Promise<readonly string[]> => {
      const violations = layered === undefined ? [] : await verifyLayering(work, layered);
      const spared = (plan.controllerDies ?? [])
        .slice(work.kills.count)
        .map((words) => `the controller was never killed at: ${words}`);
      const left = await leftovers(work);
      const forged = plan.forgesRequests === true ? await forgeryComplaints(work) : [];
      return [...complaints, ...state.complaints, ...left, ...spared, ...forged, ...violations];
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      closing.abort(new Error('the run is over'));
      for (const timer of timers) clearTimeout(timer);
      await doing;
      await observing;
      await controlling;
      await controller;
      await kubelet[Symbol.asyncDispose]();
    },
  };
}

async function tryAction(
  work: ClusterWork,
  action: Exclude<Action, { kind: 'later' }>,
): Promise<void> {
  if (work.signal.aborted) return;
  const strike = strikeOf(action);
  if (strike !== undefined) work.strike(strike);
  try {
    await perform(work, action);
  } catch (error) {
    work.complain(`${action.kind}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The fault of the scenario in an action; undefined for any other action. */
function strikeOf(action: Exclude<Action, { kind: 'later' }>): string | undefined {
  switch (action.kind) {
    case 'move-api':
      return 'the API moves, and its first server is killed';
    case 'refuse-admins':
      return action.isRefused ? 'administrators are refused' : undefined;
    case 'fail-pull':
      return 'the image of the controller cannot be pulled';
    case 'forge-requests':
      return 'certificate requests are forged';
    default:
      return undefined;
  }
}

async function leftovers(work: ClusterWork): Promise<readonly string[]> {
  const { plan, kube, state } = work;
  const isOverride = plan.needsEtcdOverride && state().isApiUp;
  const etcd = isOverride
    ? await kube.client.get({ kind: kinds.Etcd, name: 'cluster' })
    : undefined;
  const ref = { kind: kinds.ConfigMap, namespace: controllerNamespace, name: leftRecord };
  const record = work.hasServiceLeft() ? await kube.client.get(ref) : undefined;
  return [
    ...(isOverridden(etcd) ? ['etcd may still run with less than three members'] : []),
    ...(record === undefined ? [] : ['the record of the bootstrap host was not removed']),
  ];
}
