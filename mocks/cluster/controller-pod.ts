// The controller's pod as a kubelet runs it: our own program, with the settings of its job only.
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { KubeObject } from '../../src/ports/kube.ts';
import { kinds } from './objects.ts';
import {
  backOffStatus,
  controllerJob,
  controllerNamespace,
  controllerPod,
  endedStatus,
  runningStatus,
} from './pods.ts';
import { isReady } from './layering/controllers.ts';
import { hasRole } from '../layering/objects.ts';
import { type ClusterWork, dataOf, podRef, reportPod, secretData } from './site.ts';

/**
 * A kubelet waits 10 s after the first crash and doubles that after each further one
 * (`MaxContainerBackOff`); shortened in the lab.
 */
const FIRST_BACKOFF_MILLIS = 1000;
const LONGEST_BACKOFF_MILLIS = 8000;

const Source = z.strictObject({
  name: z.string(),
  key: z.string(),
  optional: z.boolean().default(false),
});

const Job = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        serviceAccountName: z.string(),
        containers: z.tuple([
          z.object({
            args: z.array(z.string()).default(['controller']),
            env: z.array(
              z.union([
                z.strictObject({ name: z.string(), value: z.string() }),
                z.strictObject({
                  name: z.string(),
                  valueFrom: z.strictObject({ configMapKeyRef: Source }),
                }),
              ]),
            ),
          }),
        ]),
        volumes: z.array(
          z.object({
            secret: z
              .object({
                secretName: z.string(),
                items: z.array(z.object({ key: z.string(), path: z.string() })),
              })
              .optional(),
          }),
        ),
      }),
    }),
  }),
});
type Job = z.infer<typeof Job>;

/** The job of the controller, which the bootstrap host has created in the cluster. */
export async function controllerJobOf({ kube }: ClusterWork): Promise<KubeObject | undefined> {
  return kube.client.get({ kind: kinds.Job, name: controllerJob, namespace: controllerNamespace });
}

/** Runs the controller until it exits with 0; on another master when its own is drained. */
export async function runController(work: ClusterWork): Promise<void> {
  const object = await controllerJobOf(work);
  if (object === undefined) {
    work.complain(`there is no job ${controllerJob} in the cluster`);
    return;
  }
  const job = Job.parse(object);
  const { signal } = work;
  for (let count = 1; !signal.aborted; count += 1) {
    const node = await freeMaster(work);
    if (node === undefined) {
      await sleep(200, undefined, { signal });
      continue;
    }
    const leaving = new AbortController();
    const moveOut = work.tenants.moveIn(node, () => {
      leaving.abort(new Error('its node is emptied'));
    });
    const pod = await work.kube.client.apply(kinds.Pod, controllerPod(object, { node, count }));
    const isDone = await runPod(work, job, {
      pod,
      signal: AbortSignal.any([signal, leaving.signal]),
    });
    moveOut();
    if (isDone) return;
    if (isOver(signal)) return;
    await work.kube.client.remove(podRef(pod), { graceSeconds: 0 });
  }
}

/** A function, because the type checker assumes that the value stays the same across an await. */
const isOver = (signal: AbortSignal): boolean => signal.aborted;

/** The scheduler takes any master that accepts workload. */
async function freeMaster({ kube }: ClusterWork): Promise<string | undefined> {
  const nodes = await kube.client.list({ kind: kinds.Node });
  return nodes.find((node) => hasRole(node, 'master') && isReady(node))?.metadata.name;
}

interface RunningPod {
  readonly pod: KubeObject;
  /** Aborts when its node ends. */
  readonly signal: AbortSignal;
}

/**
 * Restarts the container after each crash, with growing pauses; false when the pod had to leave its
 * node.
 */
async function runPod(work: ClusterWork, job: Job, { pod, signal }: RunningPod): Promise<boolean> {
  const setStatus = (status: object): Promise<void> => reportPod(work, pod, status);
  const { serviceAccountName, containers } = job.spec.template.spec;
  let backOff = FIRST_BACKOFF_MILLIS;
  for (let restarts = 0; !signal.aborted; restarts += 1) {
    const kubeconfig = await work.kube.kubeconfigFor({
      user: { namespace: controllerNamespace, serviceAccount: serviceAccountName },
    });
    const run = await work.startJob({
      name: 'controller',
      podId: pod.metadata.uid ?? '',
      args: containers[0].args,
      env: await environmentOf(work, job),
      kubeconfig,
      signal,
    });
    work.logs.set(pod.metadata.name, run.log);
    killAtFaults(work, run);
    await setStatus(runningStatus(pod, new Date(), restarts));
    const exitCode = await run.ended;
    if (exitCode === 0) {
      await setStatus(endedStatus(pod, new Date()));
      return true;
    }
    if (isOver(signal)) return false;
    await setStatus(backOffStatus(pod, new Date(), restarts + 1));
    await sleep(backOff, undefined, { signal }).catch(() => undefined);
    backOff = Math.min(backOff * 2, LONGEST_BACKOFF_MILLIS);
  }
  return false;
}

/** Log text at the moment when the service of an agent-based installation is gone. */
const SERVICE_LEFT = 'the service has left';

/** Kills the controller at each fault, in order, when its log contains the text of the fault. */
function killAtFaults(
  { plan: { controllerDies = [] }, kills, strike, hasServiceLeft, signal }: ClusterWork,
  { log, kill, ended }: Awaited<ReturnType<ClusterWork['startJob']>>,
): void {
  const next = controllerDies[kills.count];
  if (next === undefined) return;
  const timer = setInterval(() => {
    if (!log().includes(next) && !(next === SERVICE_LEFT && hasServiceLeft())) return;
    clearInterval(timer);
    kills.count += 1;
    strike(`the controller is killed at: ${next}`);
    kill();
  }, 20);
  signal.addEventListener('abort', () => clearInterval(timer));
  void ended.finally(() => clearInterval(timer));
}

/**
 * The variables of the container, and the token of its Secret. A missing key keeps a kubelet from
 * starting it.
 */
async function environmentOf(work: ClusterWork, { spec }: Job): Promise<Record<string, string>> {
  const { containers, volumes } = spec.template.spec;
  const env: Record<string, string> = {};
  for (const one of containers[0].env) {
    if ('value' in one) {
      env[one.name] = one.value;
      continue;
    }
    const { name, key, optional } = one.valueFrom.configMapKeyRef;
    const ref = { kind: kinds.ConfigMap, name, namespace: controllerNamespace };
    const value = (await dataOf(work, ref))[key];
    if (value !== undefined) env[one.name] = value;
    else if (!optional) work.complain(`couldn't find key ${key} in ConfigMap ${name}`);
  }
  for (const { secret: { secretName: name, items } = { secretName: '', items: [] } } of volumes) {
    for (const { key } of items) {
      const token = (await secretData(work, { name, namespace: controllerNamespace }))[key];
      env['PULL_SECRET_TOKEN'] = String(token ?? '');
    }
  }
  return env;
}

// The must-gather pod as a kubelet runs it: its last container uploads to the service, with the
// settings of its Secrets.

const podName = 'assisted-installer-must-gather';
const tokenSecret = 'assisted-installer-controller-secret';

/** Stands in for the state of a cluster, which has hundreds of megabytes. */
export const gatheredText = 'must-gather';

/** Runs the pod once if it exists. */
export async function runGathering(work: ClusterWork): Promise<void> {
  const { client } = work.kube;
  const ref = { kind: kinds.Pod, name: podName, namespace: controllerNamespace };
  const pod = await client.get(ref);
  const { status = {} } = (pod ?? {}) as { readonly status?: { readonly startTime?: string } };
  if (pod === undefined || status.startTime !== undefined) return;
  const form = new FormData();
  form.set('upfile', new Blob([gatheredText]), 'controller_logs.tar.gz');
  const secretOf = (name: string) => secretData(work, { name, namespace: controllerNamespace });
  const { TARGET: target = '' } = await secretOf(podName);
  const { 'pull-secret-token': token = '' } = await secretOf(tokenSecret);
  const answer = await fetch(String(target), {
    method: 'POST',
    body: form,
    headers: { 'X-Secret-Key': String(token) },
  });
  const said = answer.ok ? 'uploaded' : `${answer.status} ${await answer.text()}`;
  if (!answer.ok) work.complain(`must-gather was not uploaded: ${said}`);
  work.logs.set(podName, () => said);
  await client.mergeStatus(ref, { ...endedStatus(pod, new Date()), startTime: new Date() });
}
