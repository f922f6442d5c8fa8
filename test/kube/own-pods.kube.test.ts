import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Kubelet, startKubelet } from '../../mocks/cluster/kubelet.ts';
import { tokenIssuer } from '../../mocks/inventory/auth.ts';
import { clusterSeed, hostSeed } from '../../mocks/inventory/records.ts';
import {
  clusterRoleBindings,
  jobs,
  leases,
  nodes,
  pods,
  secrets,
  serviceAccounts,
} from '../../src/kube/kinds.ts';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';
import { type PodEnd, runContainers } from '../support/pod-containers.ts';
import { type InstallationSite, startInstallation } from './installation-site.ts';
import { deploy } from './new-cluster.ts';
import { until } from './pivoted-cluster.ts';

// The controller's pods in place of `oc adm must-gather`, admitted by a real API server, and really
// run: only the product decides about their job, their end and their clean-up.

const namespace = 'assisted-installer';
const gathering = 'assisted-installer-must-gather';
const issuer = tokenIssuer();
const cluster = clusterSeed({ status: 'finalizing', platform: 'none' });
const m0 = hostSeed({
  clusterId: cluster.id,
  infraEnvId: '7a000000-0000-4000-8000-000000000000',
  hostname: 'm0',
  role: 'master',
  status: 'installed',
  stage: 'Done',
});
const ran = new Map<string, PodEnd>();

let site: InstallationSite;
let kubelet: Kubelet;
beforeAll(async () => {
  site = await startInstallation(deploy, { cluster, hosts: [m0], auth: issuer.auth });
  const { client } = site.rig;
  await site.rig.startControllerManager();
  kubelet = await startKubelet((pod) => [...(ran.get(pod)?.logs.values() ?? [])].join(''));
  await client.apply(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'm0' } });
  await client.mergeStatus(
    { kind: nodes, name: 'm0' },
    {
      addresses: [{ type: 'Hostname', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } },
      conditions: [{ type: 'Ready', status: 'True', reason: 'x', message: 'x', ...times }],
    },
  );
  await client.apply(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'assisted-installer-controller-secret', namespace },
    stringData: { 'pull-secret-token': issuer.issue({ cluster_id: cluster.id }) },
  });
  await putController();
});
afterAll(async () => {
  await site.close();
  await kubelet[Symbol.asyncDispose]();
});

const date = '2026-11-25T00:00:00Z';
const times = { lastHeartbeatTime: date, lastTransitionTime: date };

/** The controller's job with its pod; the test's process stands in for the container. */
async function putController(): Promise<void> {
  const { client } = site.rig;
  const name = 'assisted-installer-controller';
  const containers = [{ name, image: 'registry.example/bootwright@sha256:1' }];
  const template = { spec: { containers, restartPolicy: 'Never' } };
  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name, namespace } };
  const { metadata } = await client.apply(jobs, { ...job, spec: { template } });
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name, uid: metadata.uid, controller: true };
  const pod = { kind: pods, namespace, name: `${name}-x` };
  const labels = { 'job-name': name };
  const owned = { name: pod.name, namespace, labels, ownerReferences: [owner] };
  await client.apply(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: owned,
    spec: {
      containers,
      nodeName: 'm0',
      serviceAccountName: name,
      terminationGracePeriodSeconds: 0,
    },
  });
  await client.mergeStatus(pod, { phase: 'Running' });
}

const isOfCluster: ReadonlySet<KubeKind> = new Set([clusterRoleBindings, nodes]);

const find = (kind: KubeKind, name: string): Promise<KubeObject | undefined> =>
  site.rig.client.get({ kind, name, ...(isOfCluster.has(kind) ? {} : { namespace }) });

const madeFor: readonly KubeKind[] = [pods, secrets, serviceAccounts, clusterRoleBindings];
const left = async (): Promise<readonly string[]> => {
  const found = await Promise.all(madeFor.map((kind) => find(kind, gathering)));
  return found.flatMap((one, index) => (one === undefined ? [] : [madeFor[index]?.plural ?? '']));
};

/** Waits for a pod, and runs it like its kubelet. */
async function runsPod(name: string): Promise<PodEnd> {
  await until(async () => (await find(pods, name)) !== undefined);
  const end = await runContainers(await find(pods, name), {
    image: {
      'usr/bin/gather': 'echo "of $POD_NAME on $NODE_NAME" > /must-gather/version; id -u',
      'usr/bin/oc': 'echo "log of $*"',
    },
    secrets: async (secret) => {
      const { data = {} } = ((await find(secrets, secret)) ?? {}) as {
        readonly data?: Readonly<Record<string, string>>;
      };
      return Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
      );
    },
  });
  ran.set(name, end);
  await site.rig.client.mergeStatus({ kind: pods, namespace, name }, { phase: end.phase });
  return end;
}

/**
 * The next process belongs to the same pod, which holds the lease; a process of the test has no
 * pod.
 */
async function restarts(ended: Promise<unknown>): Promise<void> {
  await ended;
  await site.rig.client.remove({ kind: leases, namespace, name: 'bootwright-controller' });
}

/** Runs each new gathering pod until a process has ended. */
async function runsPodsUntil(ended: Promise<unknown>): Promise<readonly PodEnd[]> {
  const ends: PodEnd[] = [];
  let isOver = false;
  void ended.then(() => (isOver = true));
  await until(async () => {
    const pod = await find(pods, gathering);
    const { phase } = (pod?.['status'] ?? {}) as { readonly phase?: string };
    if (phase === 'Pending') ends.push(await runsPod(gathering));
    return isOver;
  });
  return ends;
}

const variables = () => ({
  MUST_GATHER_IMAGE: 'registry.example/must-gather@sha256:2',
  PULL_SECRET_TOKEN: issuer.issue({ cluster_id: cluster.id }),
});

describe('the pods of the controller on a real API server', () => {
  it('gather the state of a failed cluster, even if the controller is killed meanwhile', async () => {
    const { service } = site;
    service.store.setCluster({ ...service.store.cluster(), status: 'error' });
    const first = await site.start(variables());
    await until(async () => (await find(pods, gathering)) !== undefined);
    first.kill();
    await restarts(first.ended);
    expect(await left()).toEqual(madeFor.map(({ plural }) => plural));
    expect(await find(pods, gathering)).toMatchObject({
      metadata: { ownerReferences: [{ kind: 'Job' }] },
      spec: {
        activeDeadlineSeconds: 1800,
        serviceAccountName: gathering,
        hostNetwork: true,
        nodeName: 'm0',
        priority: 2_000_000_000,
        securityContext: { runAsUser: 0 },
        volumes: [{ emptyDir: { sizeLimit: '8Gi' } }, {}, {}],
      },
    });

    const second = await site.start(variables());
    // A pod that ended before the second process reads it is run once more.
    const ends = await runsPodsUntil(second.ended);
    const [last] = ends.slice(-1);
    expect([last?.phase, last?.logs.get('gather-ocp'), last?.logs.get('upload')]).toEqual([
      ...['Succeeded', '0\n', 'uploaded\n'],
    ]);
    expect(await second.ended).toEqual([0, null]);
    expect(await left()).toEqual([]);
    const [archive] = service.store.controllerLogs().slice(-1);
    expect(archive?.filename).toBe('controller_logs.tar.gz');
    expect(service.store.cluster().logsState).toBe('completed');
  });

  it('are garbage-collected with the job when no controller cleans up', async () => {
    const third = await site.start(variables());
    await until(async () => (await find(pods, gathering)) !== undefined);
    third.kill();
    await third.ended;
    await site.rig.client.remove({ kind: jobs, namespace, name: 'assisted-installer-controller' });
    await until(async () => (await left()).join() === 'clusterrolebindings');
  });
});
