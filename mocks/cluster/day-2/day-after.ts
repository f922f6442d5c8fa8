// The day after an installation whose Machine Config Operator is gone: deploy/layering is applied
// unchanged, a person gives each pool another image, and all of it has to reach every node,
// whichever program dies meanwhile.
import { setTimeout as sleep } from 'node:timers/promises';
import { conditionIn } from '../../layering/objects.ts';
import { builtPools, type LayeredSite } from '../../layering/plan.ts';
import { operatorNamespace } from '../layering/controllers.ts';
import { isOperators, meddling, removeOperator } from '../layering/operator.ts';
import { kinds } from '../objects.ts';
import type { ClusterWork } from '../site.ts';
import { armFaults, type DayFault } from './faults.ts';
import { gatherDay } from './gather.ts';
import { runHosts } from './hosts.ts';
import { runKubelets } from './kubelets.ts';
import { dayViolations, type EndedDay } from './oracle.ts';
import { applyDeployment, changePool, putWorkload, wantedPods, workload } from './person.ts';
import { type DayRecord, isAway, recordDay, type SeenNode, whereIs } from './record.ts';

/** How long the day was, and its violations, one sentence each. */
export interface DayOutcome {
  readonly seconds: number;
  readonly violations: readonly string[];
}

/** The scenario's settings of the day, and its callbacks. */
export interface DayPlan {
  readonly faults: readonly DayFault[];
  /** The place of each node, for people; updated continuously. */
  readonly whereabouts: Map<string, string>;
  /** Ends the programs of the Machine Config Operator. */
  readonly endOperator: () => Promise<void>;
  /** Ends the day early. */
  readonly signal: AbortSignal;
}

/**
 * The controllers of the controller manager that are needed: they create and remove pods, update
 * budgets, and collect garbage.
 */
const controllers = [
  ...['daemonset', 'deployment', 'replicaset', 'disruption', 'garbage-collector'],
].map((name) => `${name}-controller`);

/** Our programs, by the app label of their pods. */
const apps = { controller: 'bootwright-node-controller', agent: 'bootwright-node-agent' } as const;

const POLL_INTERVAL_MILLIS = 100;
/** A pod of the operator continues for this long, and then its program without a pod. */
const OPERATOR_ENDS_MILLIS = 2000;

/** Runs the day to its end, or until the signal. Never rejects: an error is a violation. */
export async function runDayAfter(
  outer: ClusterWork,
  layered: LayeredSite,
  plan: DayPlan,
): Promise<DayOutcome> {
  const over = new AbortController();
  const violations: string[] = [];
  const work: ClusterWork = {
    ...outer,
    complain: (what) => violations.push(what),
    signal: AbortSignal.any([outer.signal, over.signal]),
  };
  const startedAt = Date.now();
  /** A program that had taken a pool over would have shown it by then. */
  const besideOperator = async (): Promise<void> => {
    await sleep(OPERATOR_ENDS_MILLIS, undefined, { signal: plan.signal });
    for (const app of Object.values(apps)) violations.push(...(await meddling(work, app)));
    if (await isAtWork(work, record, 'runs this pool')) violations.push('a pool was taken over');
  };
  const before = new Map([...layered.systems].map(([host, { image }]) => [host, image]));
  const kubelets = runKubelets(work, {
    isOn: (host) => hosts.isOn(host),
    ending: (pod) => (isOperators(pod) ? besideOperator() : Promise.resolve()),
  });
  const faults = armFaults(plan.faults, { kill: kubelets.kill, network: layered.network });
  const hosts = runHosts(work, layered, faults.losesPower);
  const record = recordDay(work, workload, faults.strike);
  let waiting = '';
  const until = async (sentence: string, isSo: () => boolean | Promise<boolean>): Promise<void> => {
    waiting = sentence;
    while (!(await isSo())) {
      for (const node of record.nodes()) {
        faults.strike(node);
        plan.whereabouts.set(node.name, whereIs(node, before.get(node.name) ?? ''));
      }
      await sleep(POLL_INTERVAL_MILLIS, undefined, { signal: plan.signal });
    }
  };
  const gather = (): Promise<EndedDay> =>
    gatherDay(work, layered, {
      record,
      before,
      restarts: hosts.restarts,
      losses: (host) =>
        faults.struck.filter((one) => one.kind === 'power-loss' && one.host === host).length,
    });

  const run = async (): Promise<void> => {
    await work.kube.startControllerManager({ controllers });
    await applyDeployment(work);
    await putWorkload(work);
    await until('our programs leave the pools to the operator', () =>
      isAtWork(work, record, 'hands off'),
    );
    await removeOperator(work);
    await until('the pods of the operator have ended', async () => !(await hasPods(work)));
    await besideOperator();
    await plan.endOperator();
    await until('our programs run the pools', () => isAtWork(work, record, 'runs this pool'));
    if (record.moments.some((nodes) => nodes.some(isAway))) {
      violations.push('nodes were changed before anything had changed');
    }
    const [host = ''] = record
      .nodes()
      .flatMap(({ name, pool }) => (pool === 'master' ? [name] : []));
    waiting = 'images are built';
    for (const pool of builtPools) await changePool(work, layered, { pool, host });
    const isDraining = (node: SeenNode): boolean =>
      node.pool === 'worker' && node.isCordoned && node.request.startsWith('drain-');
    await until('a worker is drained', () => record.nodes().some(isDraining));
    const held = record.nodes().find(isDraining)?.name ?? '';
    await until('the faults of that drain have struck', () =>
      faults.left.every(({ kind, host }) => kind !== 'controller-killed' || host !== held),
    );
    violations.push(...unexplained(await layerStatus(work), held, record.nodes()));
    await putWorkload(work, wantedPods + 1);
    await until('every node has what changed', () =>
      record.nodes().every((node) => !isAway(node) && isChanged(node, before) && isIdle(node)),
    );
  };

  try {
    await run();
    violations.push(...dayViolations(await gather()));
  } catch (error) {
    const why = plan.signal.aborted ? 'it was ended' : String(error);
    violations.push(`while it waited: ${waiting}: ${why}`);
  }
  const spared = faults.left.map(({ kind, host }) => `never struck: ${kind} of ${host}`);
  over.abort(new Error('the day is over'));
  await Promise.all([kubelets.ended, hosts.ended]);
  return {
    seconds: (Date.now() - startedAt) / 1000,
    violations: [...violations, ...spared].map((what) => `the day after: ${what}`),
  };
}

const isIdle = ({ state, request }: SeenNode): boolean => state === 'Done' && request === '';

const isChanged = ({ name, current }: SeenNode, before: ReadonlyMap<string, string>): boolean =>
  !current.endsWith(before.get(name) ?? '');

const hasPods = async ({ kube }: ClusterWork): Promise<boolean> =>
  (await kube.client.list({ kind: kinds.Pod, namespace: operatorNamespace })).some(isOperators);

async function isAtWork(
  { kube: { client }, members }: ClusterWork,
  record: DayRecord,
  owner: string,
) {
  const pods = await client.list({ kind: kinds.Pod, namespace: operatorNamespace });
  const ours = pods.filter(({ metadata: { labels } }) =>
    Object.values<string | undefined>(apps).includes(labels?.['app']),
  );
  const events = await client.list({ kind: kinds.Event, namespace: 'default' });
  const owners = events.filter(
    ({ reason, message }) => reason === 'PoolOwner' && String(message).includes(owner),
  );
  return (
    ours.filter((pod) => conditionIn(pod, 'Ready') === 'True').length > members.length &&
    owners.length >= builtPools.length &&
    record.ready.at(-1) === wantedPods
  );
}

/** Runs `bootwright layer status` as a cluster administrator; returns its output. */
export async function layerStatus({ kube, startJob, signal }: ClusterWork): Promise<string> {
  const program = await startJob({
    name: 'layer-status',
    podId: 'none',
    args: ['layer', 'status'],
    env: {},
    signal,
    kubeconfig: await kube.kubeconfigFor({}),
  });
  await program.ended;
  return program.log();
}

/**
 * Facts that the output lacks about a pool whose node `held` has a blocked drain, and whose other
 * nodes wait for it.
 */
export function unexplained(
  text: string,
  held: string,
  nodes: readonly Pick<SeenNode, 'name' | 'pool'>[],
): readonly string[] {
  const pool = nodes.find(({ name }) => name === held)?.pool;
  const others = nodes.filter((node) => node.pool === pool && node.name !== held);
  // The command wraps lines at the width of the terminal.
  const line = text.replaceAll(/\s+/g, ' ');
  const wanted = [
    'run by bootwright node controller',
    `${held} Working; drain blocked: pod shop/shop-\\S+ by budget shop/shop`,
    ...others.map(({ name }) => `${name} Done; waits: maxUnavailable 1: first ${held}`),
    `let ${held} be drained: run more replicas of what the budget protects`,
  ];
  return wanted
    .filter((pattern) => !new RegExp(pattern).test(line))
    .map((pattern) => `layer status does not say: ${pattern}`);
}
