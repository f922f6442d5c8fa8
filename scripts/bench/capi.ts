import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { followObjects } from '../../mocks/cluster/changes.ts';
import { applyCrds } from '../../mocks/kube/crds.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import {
  assetKeys,
  assetsSecretName,
  bootstrapConfigs,
  capiMachines,
  capiNames,
  clusters,
  controlPlanes,
  ownNames,
  tokenSecretName,
} from '../../src/capi/api.ts';
import { namespaceOf, type ProviderName } from '../../src/capi/manager.ts';
import { namespaces, secrets } from '../../src/kube/kinds.ts';
import { partOf, textAt } from '../../src/kube/object.ts';
import { minutes, seconds } from '../../src/model/duration.ts';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';
import { clusterObjects, controlPlaneObject, machineObjects } from '../../test/capi/cluster.ts';
import { startManager } from '../../test/capi/managers.ts';
import { deployedDefinitions } from '../../test/capi/management.ts';
import { customResourceDefinitions } from '../../test/kube/cluster-access.ts';
import { bundlePath } from '../bundle.ts';
import { ensurePart } from '../parts/ensure.ts';
import { capi } from '../parts/kube/capi.ts';
import { startRig } from '../api-server.ts';
import {
  cpuSecondsOf,
  type Figure,
  forEach,
  pause,
  peakMiBOf,
  percentile,
  perMinute,
  secondsSince,
} from './process.ts';

const hostsOfCluster = 10;
const masters = 3;
const few = 5;
const many = 50;
/** Bytes of the Ignition of a bootstrap host, compressed. */
const packedIgnition = 300_000;
/** An agent changes the text of a stage at most so often (`src/reporting/reporter.ts`). */
const reportEvery = seconds(10);
const rounds = 3;
const quiet = minutes(1);

/**
 * How soon a report is a condition, and what the managers need, of a few clusters and of ten times
 * as many.
 */
export async function measureCapi(): Promise<readonly Figure[]> {
  await using stage = await openStage(await ensurePart(capi));
  const work = async (): Promise<number> => {
    const before = stage.cpuSeconds();
    latencies = await stage.report(rounds);
    return stage.cpuSeconds() - before;
  };
  let latencies: readonly number[] = [];
  await stage.add(few);
  const small = await work();
  await stage.add(many - few);
  const large = await work();
  const asked = await stage.askedIn(quiet);
  const prepared = await stage.prepare(rounds);
  const size = `${many * hostsOfCluster} hosts in ${many} clusters`;
  const ofTenth = { name: 'of a tenth of them', measured: small };
  const applied = `objects of a cluster of ${masters} masters applied, to the data Secrets of all of them, beside ${size}`;
  const reported = `a report to the condition of its config, ${size}, 99 of 100`;
  const idle = 'requests of both managers to the API server, for each cluster in a quiet minute';
  return [
    [reported, 's', percentile(latencies, 99), 1],
    [applied, 's', percentile(prepared, 100), 1],
    ...stage.managers.map(
      ({ provider, pid }) =>
        [`peak RSS of the manager of ${provider}, ${size}`, 'MiB', peakMiBOf(pid()), 250] as const,
    ),
    [`processor time of the managers for reports of ${size}`, 's', large, 12, ofTenth],
    [idle, 'requests per minute', asked / many, 2],
  ];
}

/** A host by its config. */
interface BenchHost {
  readonly namespace: string;
  readonly name: string;
  readonly clusterId: string;
  readonly id: string;
  readonly token: string;
  /** Its own connection, as each agent has. */
  readonly agent: Agent;
}

/** A management cluster with both managers, and hosts that report to them. */
async function openStage(part: string) {
  const rig = await startRig({ crds: [], isAudited: true });
  await applyCrds(rig.client, join(part, 'crds', 'core'), [
    ...['clusters.cluster.x-k8s.io', 'machines.cluster.x-k8s.io'],
    'machinehealthchecks.cluster.x-k8s.io',
  ]);
  for (const one of deployedDefinitions()) await rig.client.apply(customResourceDefinitions, one);
  const manage = async (provider: ProviderName) => {
    const metadata = { name: namespaceOf(provider) };
    await rig.client.apply(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
    const as = { name: `bench-${provider}`, groups: ['system:masters'] };
    return startManager({ kube: rig }, { provider, program: [bundlePath], as });
  };
  const managers = await Promise.all([manage('bootstrap'), manage('control-plane')]);
  const [{ inventory }] = managers;
  const stop = new AbortController();
  const seen = followConfigs(rig, stop.signal);
  const hosts: BenchHost[] = [];
  let count = 0;
  let step = 0;
  /** Reports a text; the seconds until the config of the host has it. */
  const send = async (host: BenchHost, info: string): Promise<number> => {
    const since = performance.now();
    const shown = seen.until((configs) => {
      const config = configs.get(`${host.namespace}/${host.name}`);
      return textAt(config, 'status', 'progress', 'message') === info || undefined;
    });
    const url = `https://127.0.0.1:${inventory.port}/api/assisted-install/v2/infra-envs/${host.clusterId}/hosts/${host.id}/progress`;
    const put = () =>
      request(url, {
        method: 'PUT',
        dispatcher: host.agent,
        headers: { 'X-Secret-Key': host.token, 'content-type': 'application/json' },
        body: JSON.stringify({ current_stage: 'Installing', progress_info: info }),
      });
    // The server may close a connection in the moment in which it is used again.
    const { statusCode, body } = await put().catch(put);
    const said = await body.text();
    if (statusCode !== 200) throw new Error(`a report was answered by ${statusCode}: ${said}`);
    await shown;
    return secondsSince(since);
  };
  /** Lets each host report as often as an agent does; the seconds to each condition. */
  const report = async (times: number): Promise<readonly number[]> => {
    const latencies: number[] = [];
    for (let round = 0; round < times; round += 1) {
      step += 1;
      const sent = hosts.map(async (host, at) => {
        await pause((at * reportEvery) / hosts.length);
        latencies.push(await send(host, `step ${step}`));
      });
      await Promise.all([...sent, pause(reportEvery)]);
    }
    return latencies;
  };
  return {
    managers,
    report,
    cpuSeconds: () => managers.reduce((sum, { pid }) => sum + cpuSecondsOf(pid()), 0),
    /** Adds clusters, and waits until their hosts can be booted. */
    add: async (more: number): Promise<void> => {
      const names = Array.from({ length: more }, (_, at) => `c${count + at}`);
      count += more;
      await forEach(names, (name) => addCluster(rig, name));
      const configs = await seen.prepared(count * hostsOfCluster);
      const added = configs.filter(({ metadata }) => names.includes(metadata.namespace ?? ''));
      await forEach(added, async ({ metadata: { name, namespace = '', uid: id = '' } }) => {
        const [cluster, secret] = await Promise.all([
          rig.client.get({ kind: clusters, namespace, name: namespace }),
          rig.client.get({ kind: secrets, namespace, name: tokenSecretName(name) }),
        ]);
        const token = Buffer.from(textAt(secret, 'data', 'token'), 'base64').toString();
        const agent = new Agent({ connect: { ca: inventory.ca }, connections: 1 });
        const clusterId = cluster?.metadata.uid ?? '';
        hosts.push({ namespace, name, id, clusterId, token, agent });
      });
    },
    /**
     * Adds clusters of masters alone, one after the other; the seconds from the first object of
     * each to the data of its hosts.
     */
    prepare: async (more: number): Promise<readonly number[]> => {
      const latencies: number[] = [];
      for (let at = 0; at < more; at += 1) {
        const name = `masters${at}`;
        const since = performance.now();
        await addCluster(rig, name, masters);
        await seen.prepared(masters, name);
        latencies.push(secondsSince(since));
      }
      return latencies;
    },
    /** Requests of the managers in a time in which nothing happens. */
    askedIn: async (time: number): Promise<number> => {
      await pause(seconds(15));
      const all = () => Promise.all(managers.map(({ asked }) => asked()));
      return perMinute(time, async () => (await all()).flat());
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.all(managers.map((manager) => manager.stop()));
      await Promise.all(hosts.map(({ agent }) => agent.close()));
      await rig.close();
    },
  };
}

/** Follows all configs and notifies those that wait for one of them. */
function followConfigs(rig: Rig, signal: AbortSignal) {
  const configs = new Map<string, KubeObject>();
  const waits = new Set<() => void>();
  const watched = { kube: rig, state: () => ({ isApiUp: true }), signal };
  void followObjects(watched, { kind: bootstrapConfigs }, ({ object }) => {
    const { name, namespace = '' } = object.metadata;
    configs.set(`${namespace}/${name}`, object);
    for (const wait of waits) wait();
  });
  const until = <T>(find: (seen: typeof configs) => T | undefined): Promise<T> =>
    new Promise((resolve) => {
      const check = (): void => {
        const found = find(configs);
        if (found === undefined) return;
        waits.delete(check);
        resolve(found);
      };
      waits.add(check);
      check();
    });
  return {
    until,
    /**
     * Resolves with the configs of so many hosts, in a namespace or in all, once these have their
     * data.
     */
    prepared: (count: number, namespace?: string): Promise<readonly KubeObject[]> =>
      until(() => {
        const ready = [...configs.values()].filter(
          (config) =>
            partOf(config, 'status', 'ready') === true &&
            (namespace === undefined || config.metadata.namespace === namespace),
        );
        return ready.length === count ? ready : undefined;
      }),
  };
}

/**
 * A Cluster with a control plane and its Machines, as core and the control-plane provider would
 * have made them.
 */
async function addCluster({ client }: Rig, name: string, hosts = hostsOfCluster): Promise<void> {
  const labels = { [capiNames.clusterName]: name };
  const objects = new Map(clusterObjects(name, 1).map((one) => [one.kind, one]));
  const make = (kind: KubeKind, object: KubeObject | undefined, more: object = {}) => {
    if (object === undefined) throw new TypeError(`no ${kind.plural} among the objects`);
    return client.create(kind, { ...object, metadata: { ...object.metadata, labels, ...more } });
  };
  await make(namespaces, objects.get('Namespace'));
  const cluster = await make(clusters, objects.get('Cluster'));
  await client.mergeStatus(
    { kind: clusters, namespace: name, name },
    { initialization: { infrastructureProvisioned: true } },
  );
  const ownedBy = ({ apiVersion, kind, metadata }: KubeObject) => ({
    ownerReferences: [
      { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true },
    ],
  });
  const plane = await make(controlPlanes, controlPlaneObject(name), ownedBy(cluster));
  const annotations = {
    [ownNames.generatedAt]: new Date().toISOString(),
    [ownNames.inputsHash]: 'bench',
  };
  const assets: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: assetsSecretName(name), namespace: name, annotations },
    data: {
      [assetKeys.bootstrapIgnition]: randomBytes(packedIgnition).toString('base64'),
      [assetKeys.masterIgnition]: '',
      [assetKeys.mcoImage]: Buffer.from('registry.example/mco').toString('base64'),
    },
  };
  await make(secrets, assets, ownedBy(plane));
  const ofControlPlane = {
    ...ownedBy(plane),
    labels: { ...labels, [capiNames.controlPlane]: '', [capiNames.controlPlaneName]: name },
  };
  for (let index = 0; index < hosts; index += 1) {
    const [, config, machine] = machineObjects({ cluster: name, name: `h${index}` });
    const annotations = index === 0 ? { [ownNames.role]: 'bootstrap' } : {};
    const own = index < masters ? { ...ofControlPlane, annotations } : {};
    const made = await make(capiMachines, machine, own);
    await make(bootstrapConfigs, config, ownedBy(made));
  }
}
