// Scheduler and kubelets of the day after an installation: the scheduler selects a node for each
// pod, and the node's kubelet runs it. Pods with our own image run our own program; all other pods
// only get a status. The real controller manager creates and removes pods.
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../../src/ports/kube.ts';
import { partAt, textIn } from '../../layering/objects.ts';
import { followChanges, pollUntilClosed } from '../changes.ts';
import { kinds } from '../objects.ts';
import { backOffStatus, runningStatus } from '../pods.ts';
import { type ClusterWork, podRef, reportPod, type RunningJob } from '../site.ts';
import { containerOf, isOurs, isOver, schedule } from './scheduler.ts';

/** The pods of a cluster, run by its kubelets. */
export interface Kubelets {
  /** Kills the program of a matching pod; false without one. */
  readonly kill: (isMeant: (pod: KubeObject) => boolean) => boolean;
  /** Resolves once the cluster is closed and no pod runs any more. */
  readonly ended: Promise<void>;
}

/** Dependencies of pods beside the API server. */
interface PodSite {
  /** Whether the host of a node is switched on. */
  readonly isOn: (node: string) => boolean;
  /** Runs before a pod that has to leave its node ends. */
  readonly ending: (pod: KubeObject) => Promise<void>;
}

const POLL_INTERVAL_MILLIS = 100;
/** A kubelet waits 10 s after the first crash; shortened in the lab. */
const BACKOFF_MILLIS = 1000;

interface Placed {
  readonly pod: KubeObject;
  readonly leave: () => void;
  ended: Promise<void>;
  program?: RunningJob | undefined;
  isLeaving: boolean;
}

/** Runs the pods of a cluster until it is closed. */
export function runKubelets(work: ClusterWork, site: PodSite): Kubelets {
  const { signal } = work;
  const { client } = work.kube;
  const placed = new Map<string, Placed>();
  const restarts = new Map<string, number>();
  const changes = followChanges(work, [{ kind: kinds.Pod }, { kind: kinds.Node }]);

  const start = (pod: KubeObject, node: string): void => {
    const { uid = '' } = pod.metadata;
    if (placed.has(uid)) return;
    const leaving = new AbortController();
    const leave = (): void => leaving.abort(new Error('the pod leaves its node'));
    const moveOut = work.tenants.moveIn(node, leave);
    const own: Placed = { pod, leave, ended: Promise.resolve(), isLeaving: false };
    const count = restarts.get(uid) ?? 0;
    restarts.set(uid, count + 1);
    own.ended = runPod(work, own, { pod, count, signal: AbortSignal.any([signal, leaving.signal]) })
      .catch((error: unknown) => {
        if (!signal.aborted && !leaving.signal.aborted) work.complain(`${uid}: ${String(error)}`);
      })
      .finally(() => {
        moveOut();
        placed.delete(uid);
        changes.keep();
      });
    placed.set(uid, own);
  };

  /** A pod that is being deleted disappears once its containers have ended. */
  const end = (pod: KubeObject): void => {
    const own = placed.get(pod.metadata.uid ?? '');
    if (own?.isLeaving === true) return;
    if (own !== undefined) own.isLeaving = true;
    own?.leave();
    (own?.ended ?? Promise.resolve())
      .then(() => site.ending(pod))
      .then(() => client.remove(podRef(pod), { graceSeconds: 0 }))
      .catch(changes.keep);
  };

  const poll = async (): Promise<void> => {
    const [pods, nodes] = await Promise.all([
      client.list({ kind: kinds.Pod }),
      client.list({ kind: kinds.Node }),
    ]);
    const isWaiting = (pod: KubeObject): boolean =>
      textIn(pod, 'spec', 'nodeName') === '' && pod.metadata.deletionTimestamp === undefined;
    await schedule(work, pods.filter(isWaiting), { pods, nodes });
    for (const pod of pods) {
      const node = textIn(pod, 'spec', 'nodeName');
      if (node !== '' && !site.isOn(node)) continue;
      if (pod.metadata.deletionTimestamp !== undefined) end(pod);
      else if (node !== '' && !isOver(pod)) start(pod, node);
    }
  };

  const run = async (): Promise<void> => {
    await pollUntilClosed(signal, { changes, everyMillis: POLL_INTERVAL_MILLIS }, async () => {
      if (changes.take()) await poll();
    });
    await Promise.all([...placed.values()].map(({ ended }) => ended));
  };
  return {
    kill: (isMeant) => {
      const found = [...placed.values()].find(
        ({ pod, program }) => program !== undefined && isMeant(pod),
      );
      found?.program?.kill();
      return found !== undefined;
    },
    ended: run(),
  };
}

interface PodRun {
  readonly pod: KubeObject;
  /** Number of earlier starts of its containers. */
  readonly count: number;
  /** Aborts when it has to leave its node, or its host goes down. */
  readonly signal: AbortSignal;
}

/** Runs the container of a pod, again after each end, until the pod has to leave. */
async function runPod(
  work: ClusterWork,
  own: Placed,
  { pod, count, signal }: PodRun,
): Promise<void> {
  const setStatus = (status: object): Promise<void> => reportPod(work, pod, status);
  for (let restarts = count; !isOff(signal); restarts += 1) {
    const program = isOurs(pod) ? await startProgram(work, pod, signal) : undefined;
    own.program = program;
    await setStatus(runningStatus(pod, new Date(), restarts));
    await (program?.ended ?? untilAborted(signal));
    if (isOff(signal)) break;
    await setStatus(backOffStatus(pod, new Date(), restarts + 1));
    await sleep(BACKOFF_MILLIS, undefined, { signal }).catch(() => undefined);
  }
  if (!isOff(work.signal)) await setStatus(backOffStatus(pod, new Date(), count));
}

/** A function, because the type checker assumes that the value stays the same across an await. */
const isOff = (signal: AbortSignal): boolean => signal.aborted;

const untilAborted = (signal: AbortSignal): Promise<number> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(0);
    else signal.addEventListener('abort', () => resolve(0), { once: true });
  });

/**
 * Starts the program of a pod with the values of its spec: arguments, the name of its node, its
 * account's token.
 */
async function startProgram(
  work: ClusterWork,
  pod: KubeObject,
  signal: AbortSignal,
): Promise<RunningJob> {
  const { name, namespace = '', uid: podId = '' } = pod.metadata;
  const { kubeconfigFor } = work.kube;
  const node = textIn(pod, 'spec', 'nodeName');
  const serviceAccount = textIn(pod, 'spec', 'serviceAccountName');
  const run = await work.startJob({
    name,
    podId,
    signal,
    args: partAt(containerOf(pod), 'args') as readonly string[],
    kubeconfig: await kubeconfigFor({
      user: { namespace, serviceAccount, pod: { name, uid: podId } },
    }),
    hostPid: partAt(pod, 'spec', 'hostPID') === true ? node : undefined,
    env: partAt(containerOf(pod), 'env') === undefined ? {} : { NODE_NAME: node },
  });
  work.logs.set(name, run.log);
  return run;
}
