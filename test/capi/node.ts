// A node of the management cluster. The real controller of Kubernetes runs the Jobs, with their
// retries, deadlines and policies; this file schedules their pods and runs them. Containers are
// real processes under the user of their pod, and are killed with it.
import { readFileSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { startKubelet } from '../../mocks/cluster/kubelet.ts';
import { KubeRefusal } from '../../mocks/kube/transport.ts';
import { configMaps, nodes, pods, secrets } from '../../src/kube/kinds.ts';
import { partOf, textAt } from '../../src/kube/object.ts';
import type { KubeKind, KubeObject, KubeRef } from '../../src/ports/kube.ts';
import { type ImageFiles, type PodEnd, runContainers } from '../support/pod-containers.ts';
import type { Management } from './management.ts';

/** The node, with the runs of the release's installer. */
export interface ManagementNode extends AsyncDisposable {
  /** One entry for each run, `manifests` for example. */
  readonly runs: () => readonly string[];
}

const name = 'management-0';
const labels = { 'kubernetes.io/os': 'linux' };
const top = resolve(import.meta.dirname, '../..');
const bindings: KubeKind = { group: '', version: 'v1', plural: 'bindings' };
const at = '2026-11-27T00:00:00Z';

/**
 * Paths in containers of this project's sources, of Node, and of the files that a test's installer
 * leaves.
 */
const places = { sources: '/image', node: '/node', runs: '/installer-runs' } as const;

const digest = (image: string): string => `registry.example/${image}@sha256:${'1'.repeat(64)}`;

/**
 * Programs of the release: the list of its images, and its installer, whose kubeconfig is the
 * guest's.
 */
const release: ImageFiles = {
  'usr/bin/cluster-version-operator': `case "$2" in
installer) echo ${digest('installer')} ;;
machine-config-operator) echo ${digest('mco')} ;;
rhel-coreos) echo ${digest('coreos')} ;;
*) echo "error: no image tag $2" >&2; exit 1 ;;
esac`,
  'usr/bin/openshift-install': `export GUEST_KUBECONFIG=${places.runs}/kubeconfig INSTALLER_RUNS=${places.runs}/runs
exec ${places.node}/node ${places.sources}/test/capi/openshift-install.ts "$@"`,
};

/** Starts the node; the release's installer gives clusters this kubeconfig. */
export async function startNode(
  { kube, client }: Pick<Management, 'kube' | 'client'>,
  kubeconfig: string,
): Promise<ManagementNode> {
  const folder = join(kube.folder, 'installer');
  await mkdir(folder, { recursive: true });
  for (const [file, text] of Object.entries({ kubeconfig, runs: '' })) {
    await writeFile(join(folder, file), text);
    await chmod(join(folder, file), 0o666);
  }
  const ended = new Map<string, PodEnd>();
  const stop = new AbortController();
  const running = new Map<string, AbortController>();
  const work: Promise<void>[] = [];
  const kubelet = await startKubelet((pod, container) => ended.get(pod)?.logs.get(container) ?? '');
  await client.apply(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
  await client.mergeStatus(
    { kind: nodes, name },
    {
      addresses: [{ type: 'Hostname', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } },
    },
  );
  const server = new URL(kube.url);

  /** A pod may be removed while its end is reported. */
  const unlessOver = (error: unknown): void => {
    const isGone = error instanceof KubeRefusal && error.status === 404;
    if (!isGone && !stop.signal.aborted) throw error;
  };

  const schedule = async ({ metadata, spec }: KubeObject): Promise<void> => {
    const { nodeSelector = {} } = spec as { readonly nodeSelector?: Record<string, string> };
    const isFit = Object.entries(nodeSelector).every(
      ([label, value]) => labels[label as keyof typeof labels] === value,
    );
    if (!isFit) return;
    const target = { apiVersion: 'v1', kind: 'Node', name };
    const { namespace, name: pod } = metadata;
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: pod, namespace } };
    await client.create(bindings, { ...binding, target });
  };

  const start = async (pod: KubeObject, signal: AbortSignal): Promise<void> => {
    const { namespace = '', name: podName, uid = '' } = pod.metadata;
    const ref: KubeRef = { kind: pods, namespace, name: podName };
    await client.mergeStatus(ref, { phase: 'Running', startTime: new Date().toISOString() });
    const dataOf = (kind: KubeKind, decode: (text: string) => string) => async (one: string) => {
      const found = await client.get({ kind, namespace, name: one });
      const data = Object.entries((found?.['data'] ?? {}) as Readonly<Record<string, string>>);
      return Object.fromEntries(data.map(([key, value]) => [key, decode(value)]));
    };
    const end = await runContainers(pod, {
      secrets: dataOf(secrets, (text) => Buffer.from(text, 'base64').toString()),
      configMaps: dataOf(configMaps, (text) => text),
      token: () =>
        client.tokenOf(namespace, textAt(pod, 'spec', 'serviceAccountName'), {
          name: podName,
          uid,
        }),
      image: release,
      entrypoint: [`${places.node}/node`, `${places.sources}/src/main.ts`],
      binds: {
        ...Object.fromEntries(
          ['src', 'test', 'mocks', 'node_modules'].map((one) => [
            `${places.sources}/${one}`,
            join(top, one),
          ]),
        ),
        [places.node]: dirname(process.execPath),
        [places.runs]: folder,
      },
      env: {
        KUBERNETES_SERVICE_HOST: server.hostname,
        KUBERNETES_SERVICE_PORT: server.port,
        NODE_OPTIONS: '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
      },
      signal,
    });
    if (signal.aborted) return;
    ended.set(podName, end);
    await client.mergeStatus(ref, {
      phase: end.phase,
      initContainerStatuses: statusesOf(pod, 'initContainers', end),
      containerStatuses: statusesOf(pod, 'containers', end),
    });
  };

  const follow = async (): Promise<void> => {
    for await (const { type, object: pod } of client.watch(
      { kind: pods },
      { signal: stop.signal },
    )) {
      if (type !== 'ADDED' && type !== 'MODIFIED') continue;
      const { uid = '', deletionTimestamp, namespace, name: podName } = pod.metadata;
      if (deletionTimestamp !== undefined) {
        running.get(uid)?.abort();
        await client.remove({ kind: pods, namespace, name: podName }, { graceSeconds: 0 });
      } else if (partOf(pod, 'spec', 'nodeName') === undefined)
        await schedule(pod).catch(unlessOver);
      else if (textAt(pod, 'status', 'phase') === 'Pending' && !running.has(uid)) {
        const killed = new AbortController();
        running.set(uid, killed);
        const ran = start(pod, AbortSignal.any([killed.signal, stop.signal]));
        work.push(ran.catch(unlessOver));
      }
    }
  };
  const following = follow().catch(unlessOver);
  return {
    runs: () => readFileSync(join(folder, 'runs'), 'utf8').split('\n').filter(Boolean),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await following;
      await Promise.allSettled(work);
      await kubelet[Symbol.asyncDispose]();
    },
  };
}

/** The statuses of a pod's containers, as the kubelet reports them. */
function statusesOf(
  pod: KubeObject,
  list: 'initContainers' | 'containers',
  { logs, codes }: PodEnd,
): readonly object[] {
  const all = (partOf(pod, 'spec', list) ?? []) as readonly {
    readonly name: string;
    readonly image: string;
  }[];
  return all.map(({ name: container, image }) => {
    const exitCode = codes.get(container);
    const common = { name: container, image, imageID: image, restartCount: 0, ready: false };
    if (exitCode === undefined)
      return { ...common, state: { waiting: { reason: 'PodInitializing' } } };
    // As with `terminationMessagePolicy: FallbackToLogsOnError`.
    const message = exitCode === 0 ? '' : (logs.get(container) ?? '').slice(-2048);
    const times = { startedAt: at, finishedAt: at };
    return {
      ...common,
      state: {
        terminated: { exitCode, message, reason: exitCode === 0 ? 'Completed' : 'Error', ...times },
      },
    };
  });
}
