import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { askerOf, requestObject } from '../../mocks/cluster/kubelet.ts';
import {
  firstObjects,
  kindOf,
  kinds,
  nodeObject,
  nodeStatus,
} from '../../mocks/cluster/objects.ts';
import { controllerNamespace } from '../../mocks/cluster/pods.ts';
import { clusterSeed, type HostRecord, hostSeed } from '../../mocks/inventory/records.ts';
import { startInventory } from '../../mocks/inventory/server.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { withoutPrefix } from '../../mocks/lab/start-cluster.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { approved, readRequest } from '../../src/cluster/csr/read-request.ts';
import { minutes, seconds } from '../../src/model/duration.ts';
import { clusterOf } from '../../test/kube/cluster-access.ts';
import { bundlePath } from '../bundle.ts';
import { startRig } from '../api-server.ts';
import {
  type Figure,
  forEach,
  pause,
  percentile,
  perMinute,
  secondsSince,
  start,
  until,
} from './process.ts';

const hostCount = 1000;
const requestCount = 10_000;
/**
 * Hosts that join while it is measured; all others are nodes already, whose requests were approved.
 */
const joining = 100;
const watched = minutes(5);
const asker = { name: 'bench-controller', groups: ['system:masters'] };

const cluster = clusterSeed();
const hosts = Array.from({ length: hostCount }, (_, index) => hostOf(index));
const joined = hosts.slice(joining);

function hostOf(index: number): HostRecord {
  const isJoined = index >= joining;
  return hostSeed({
    clusterId: cluster.id,
    infraEnvId: '22222222-2222-4222-8222-222222222222',
    hostname: `node-${index}`,
    role: index >= hostCount - 3 ? 'master' : 'worker',
    stage: isJoined ? 'Done' : 'Rebooting',
    stageStartedAt: Date.now(),
    status: isJoined ? 'installed' : 'installing-in-progress',
  });
}

/** Measures the time and memory of the controller in a large cluster, and how soon it acts. */
export async function measureController(): Promise<readonly Figure[]> {
  await using stage = await openControllerStage();
  const { rig, service } = stage;
  const agent = await stage.start();
  // Requests that are not approved are counted after half a minute.
  await pause(seconds(40));
  const [approvals, reports]: [number[], number[]] = [[], []];
  for (const host of hosts.slice(0, joining)) {
    approvals.push(await stage.certify(host));
    reports.push(await stage.join(host));
  }
  await forEach(joined, (host) => putNode(rig, host, true));
  await pause(seconds(5));
  const peak = agent.peakMiB();
  const asked = (): ReturnType<Rig['audited']> => rig.audited(asker.name);
  const [ofService, ofApi] = await Promise.all([
    perMinute(watched, () => service.requests),
    perMinute(watched, asked),
  ]);
  await agent.stop();
  const size = `${hostCount} nodes and ${requestCount} certificate requests`;
  return [
    [`peak RSS of the controller with ${size}`, 'MiB', peak, 128],
    ['its lists of one selection, the most', 'lists', mostLists(await asked()), 1],
    ['a node that is Ready to Done at the service, 99 of 100', 's', percentile(reports, 99), 1],
    ['a certificate request to its approval, 99 of 100', 's', percentile(approvals, 99), 2],
    ['its requests to the service, idle', 'requests per minute', ofService, 4],
    ['its requests to the API server, idle', 'requests per minute', ofApi, 12],
  ];
}

/** The largest number of lists of one resource; further pages do not count. */
function mostLists(asked: Awaited<ReturnType<Rig['audited']>>): number {
  const lists = asked.filter(
    ({ path, verb, status }) => verb === 'list' && status === 200 && !path.includes('continue='),
  );
  return Math.max(...lists.map((one) => lists.filter(({ path }) => path === one.path).length));
}

/**
 * A large cluster and a service, for one controller: filled with nodes, and with requests of
 * unknown hosts.
 */
async function openControllerStage() {
  const rig = await startRig({ isAudited: true });
  const service = await startInventory({ cluster, hosts });
  const bootstrapper = clusterOf(await rig.kubeconfigFor({ user: askerOf(request('')) }));
  await fill(rig, bootstrapper);
  const done = (host: HostRecord): number | undefined =>
    service.requests.find(
      ({ path, body }) => path.includes(host.id) && body.includes('"current_stage":"Done"'),
    )?.at;
  return {
    rig,
    service,
    start: async () => {
      const file = join(rig.folder, 'controller.kubeconfig');
      await writeFile(file, await rig.kubeconfigFor({ user: asker }));
      return start([bundlePath, 'controller', '--kubeconfig', file], {
        CLUSTER_ID: cluster.id,
        INVENTORY_URL: service.url,
        OPENSHIFT_VERSION: '4.20.1',
      });
    },
    /** Lets a host ask for its certificate; the seconds until that is approved. */
    certify: async ({ hostname: name }: HostRecord) => {
      const made = await bootstrapper.create(csrs, await requestObject(request(name)), signal);
      const since = performance.now();
      const version = made.metadata.resourceVersion ?? '';
      for await (const { object } of rig.client.watch(csrs, { resourceVersion: version, signal })) {
        if (object.metadata.uid === made.metadata.uid && readRequest(object).state === 'approved')
          break;
      }
      return secondsSince(since);
    },
    /** Makes a host a Ready node; returns the seconds until the service gets the report. */
    join: async (host: HostRecord) => {
      await putNode(rig, host, false);
      await pause(200);
      const since = Date.now();
      await putNode(rig, host, true);
      return ((await until(() => done(host))) - since) / 1000;
    },
    [Symbol.asyncDispose]: async () => {
      await bootstrapper.close();
      await service.close();
      await rig.close();
    },
  };
}

const csrs = { kind: kinds.CertificateSigningRequest };
const { signal } = new AbortController();
const request = (node: string) => ({ node, addresses: [], purpose: 'client' }) as const;

async function fill(rig: Rig, bootstrapper: KubeCluster): Promise<void> {
  const members = hosts
    .slice(-3)
    .map(({ hostname: name }) => ({ name, role: 'master' as const, isBootstrap: false }));
  for (const object of firstObjects({ members }, 'assisted-service'))
    await rig.client.apply(kindOf(object), object);
  const metadata = { name: controllerNamespace };
  await rig.client.apply(kinds.Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata });
  await forEach(joined, (host) => putNode(rig, host, true));
  await forEach(Array(requestCount).keys(), async (index) => {
    const host = joined[index];
    const object = await requestObject(request(host?.hostname ?? `stranger-${index}`));
    const name = `csr-${index}`;
    const made = await bootstrapper.create(csrs, { ...object, metadata: { name } }, signal);
    if (host === undefined) return;
    const why = { reason: 'NodeCSRApprove', message: 'before', at: Date.now() };
    await rig.client.replace({ ...csrs, name }, approved(made, why), 'approval');
  });
}

/** The images in a node as JSON; a kubelet reports fifty of them. */
const images = Array.from({ length: 50 }, (_, index) => ({
  names: [`quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:${`${index}`.padStart(64, 'a')}`],
  sizeBytes: 500_000_000,
}));

async function putNode(rig: Rig, host: HostRecord, isReady: boolean): Promise<void> {
  const { hostname: name, role } = host;
  const addresses = host.addresses.map(withoutPrefix);
  await rig.client.apply(kinds.Node, nodeObject({ name, role, isBootstrap: false }));
  const status = nodeStatus(
    { addresses },
    { isReady, kubeletPort: 10_250, bootId: host.id, at: new Date() },
  );
  await rig.client.mergeStatus({ kind: kinds.Node, name }, { ...status, images });
}
