import { hostIndexOf, hostOf } from '../../cluster/host-index.ts';
import { nodes as nodeKind, pods } from '../../kube/kinds.ts';
import { addressesAsking } from '../../cluster/mcs-log.ts';
import { untaintPatch } from '../../cluster/cloud-taint.ts';
import { internalAddresses, readinessOf } from '../../cluster/node.ts';
import { asAgentError, noteFailed } from '../../engine/failures.ts';
import { canonicalAddress } from '../../lib/address.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import { type Stage, stages } from '../../model/stage.ts';
import type { InstallingHost, InventoryHost } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
import { informer } from '../../kube/informer.ts';
import type { Controller } from '../../kube/manager.ts';
import { readAgain } from '../../kube/object.ts';
import { decideUntaint } from '../../steps/cluster/untaint.ts';
import type { NewCluster } from './new-cluster.ts';
import type { InstallationScope } from './scope.ts';
import { byHost, byNode, type InstallationStores, nameOf } from './stores.ts';

function signOf(node: KubeObject | undefined): HostSigns['node'] {
  if (node === undefined) return 'none';
  return readinessOf(node).isReady ? 'ready' : 'joined';
}

/**
 * Reports the hosts whose nodes join and become Ready, and those that requested their Ignition,
 * until the service has every report.
 */
export function reportControllers(
  scope: InstallationScope,
  stores: InstallationStores,
): readonly Controller[] {
  const { service } = stores;
  const ofHosts = byHost(stores);
  const answers = new Map<string, AnsweredReport>();
  const asked = new Set<string>();
  let report: (id: string) => void = () => undefined;
  const logs = logController(scope, stores, (address) => {
    const host = hostIndexOf(service.hosts()).at(address);
    asked.add(address);
    if (host !== undefined) report(host.id);
  });
  const hasAsked = ({ id, addresses }: InstallingHost): boolean => {
    const index = hostIndexOf(service.hosts());
    // An address of several hosts identifies none.
    return addresses
      .map((one) => canonicalAddress(one) ?? '')
      .some((one) => asked.has(one) && index.at(one)?.id === id);
  };
  const reporting: Controller = {
    id: 'controller/report-nodes',
    title: 'Report the nodes that join and become Ready',
    idle: 'every host is installed or failed',
    ...ofHosts,
    about: (id) => {
      const { host } = stores.seenOf(id);
      return `stage of host ${host === undefined ? id : nameOf(host)}`;
    },
    watch: (add) => {
      report = add;
      ofHosts.watch(add);
    },
    reconcile: async (id, signal) => {
      const { host, node } = stores.seenOf(id);
      if (host === undefined || !isUnderWay(host)) return {};
      const status = `${nameOf(host)} (${host.stage ?? host.status})`;
      const stageBy = (seen: KubeObject | undefined): Stage | undefined => {
        const signs = { node: signOf(seen), hasAskedIgnition: hasAsked(host) };
        return nextStage(host, signs, answers.get(id));
      };
      const stage = stageBy(node);
      if (stage === undefined) return { status };
      if (node !== undefined) {
        const ref = { kind: nodeKind, name: node.metadata.name };
        // The service never accepts an earlier stage.
        if (stageBy(await readAgain(scope.kube, ref, node, signal)) !== stage) return { status };
      }
      await send(scope, answers, host, stage, signal);
      // The service may wait for the last host alone: a list of a thousand hosts is 29 MiB.
      const isDone = (one: InstallingHost): boolean =>
        !isUnderWay(one) || answers.get(one.id)?.stage === 'Done';
      if (stage === 'Done' && service.hosts().every(isDone)) scope.inventory.refresh();
      // A node that has joined may be Ready by now.
      return { status, after: 0 };
    },
  };
  return [reporting, logs, nodeNotes(scope, stores)];
}

/** Logs each node without a host once, and each node whose first address is not one of its host. */
function nodeNotes(
  { note }: InstallationScope,
  { service, nodes }: InstallationStores,
): Controller {
  const checked = new Map<string, string>();
  const ofNodes = byNode({ nodes });
  return {
    id: 'controller/check-nodes',
    title: 'Compare the addresses of nodes and hosts',
    idle: 'nodes are watched',
    ...ofNodes,
    reads: [service, nodes],
    about: (name) => `addresses of node ${name}`,
    watch: (add) => {
      ofNodes.watch(add);
      service.onChange(() => ofNodes.keys().forEach((name) => add(name)));
    },
    reconcile: (name) => {
      const node = nodes.get(name);
      const host = node && hostOf(node, hostIndexOf(service.hosts()));
      const [first] = node === undefined ? [] : internalAddresses(node);
      const what = `${first} ${host?.id}`;
      // A node may have no address for a moment.
      if (first === undefined || checked.get(name) === what) return Promise.resolve({});
      checked.set(name, what);
      if (host === undefined) note('warn', `node ${name} is on no host of the service`);
      else if (!hasAddress(host, first)) {
        note('warn', `node ${name} has an address that its host did not have`, { address: first });
      }
      return Promise.resolve({});
    },
  };
}

const hasAddress = ({ addresses }: InventoryHost, canonical: string): boolean =>
  addresses.length === 0 || addresses.some((address) => canonicalAddress(address) === canonical);

/** Refusals that stay until the service's record of the host changes. */
const answersOfService: ReadonlySet<string> = new Set([
  'inventory.refused',
  'inventory.not-found',
  'inventory.rejected',
]);

async function send(
  { inventory, note }: InstallationScope,
  answers: Map<string, AnsweredReport>,
  host: InstallingHost,
  stage: Stage,
  signal: AbortSignal,
): Promise<void> {
  const { id: hostId, infraEnvId } = host;
  try {
    await inventory.report({ infraEnvId, hostId }, { stage, info: '' }, signal);
    answers.set(hostId, { stage });
    note('info', `${nameOf(host)} is ${stage}`, { host: hostId, stage });
  } catch (error) {
    if (signal.aborted || !answersOfService.has(asAgentError(error).code)) throw error;
    answers.set(hostId, { stage, refusedAt: recordOf(host) });
    noteFailed({ signal, note }, `the service refuses ${stage} of ${nameOf(host)}`, error);
  }
}

/** The pods that serve each host its Ignition. */
const configServers = {
  kind: pods,
  namespace: 'openshift-machine-config-operator',
  labelSelector: 'k8s-app=machine-config-server',
} as const;

/** Interval of requests for a log, which cannot be watched, while a host may appear in it. */
const askLogsEvery: Millis = seconds(10);

/** Lines written during the last request are requested again. */
const overlap: Millis = seconds(5);

/**
 * Reads the logs of the config servers while a host may appear in them; at first each as a whole,
 * because an earlier controller may have crashed.
 */
function logController(
  { kube, clock, note }: InstallationScope,
  { service, nodes, nodeOf }: InstallationStores,
  hasAsked: (address: string) => void,
): Controller {
  const servers = informer({ kube, clock }, configServers);
  const readAt = new Map<string, Millis>();
  const noted = new Set<string>();
  let isDenied = false;
  let dueAt: Millis = 0;
  const readOne = async (pod: KubeObject, signal: AbortSignal): Promise<void> => {
    const { name, uid = name } = pod.metadata;
    const last = readAt.get(uid);
    const now = clock.elapsed();
    const since = last === undefined ? undefined : Math.ceil((now - last + overlap) / seconds(1));
    const text = await kube.podLog({ namespace: configServers.namespace, name }, since, signal);
    for (const address of addressesAsking(text)) hasAsked(address);
    readAt.set(uid, now);
  };
  return {
    id: 'controller/read-config-server-logs',
    title: 'Read the logs of the config servers',
    idle: 'every host has its Ignition',
    reads: [service, nodes, servers],
    about: () => 'logs of the config servers',
    keys: () => ['logs'],
    watch: (add) => {
      for (const changes of [nodes.onChange, service.onChange, servers.onChange])
        changes(() => add('logs'));
    },
    reconcile: async (_, signal) => {
      const mayAsk = service.hosts().some((host) => mayAskIgnition(host, signOf(nodeOf(host.id))));
      if (!mayAsk || isDenied) return {};
      const status = 'a host may ask for its Ignition';
      if (clock.elapsed() < dueAt) return { status, after: dueAt - clock.elapsed() };
      dueAt = clock.elapsed() + askLogsEvery;
      // One after the other: each may be large.
      for (const pod of servers.all()) {
        try {
          await readOne(pod, signal);
        } catch (error) {
          signal.throwIfAborted();
          const { code } = asAgentError(error);
          isDenied = isForbidden(error);
          if (!noted.has(code))
            noteFailed({ signal, note }, 'cannot read a log of the config server', error);
          noted.add(code);
          if (isDenied) return {};
        }
      }
      return { status, after: askLogsEvery };
    },
  };
}

/**
 * Removes the cloud provider taint where no other program does: from nodes that are not Ready; in
 * an agent-based installation, from all.
 */
export function taintController(
  scope: InstallationScope,
  stores: InstallationStores,
  cluster: NewCluster,
): Controller {
  const { kube, note } = scope;
  let wanted: Promise<boolean> | undefined;
  const isWanted = (signal: AbortSignal): Promise<boolean> => {
    wanted ??= decideUntaint(scope, cluster, signal).catch((error: unknown) => {
      wanted = undefined;
      throw error;
    });
    return wanted;
  };
  return {
    id: 'controller/remove-cloud-taint',
    title: 'Remove the taint of cloud providers where no other controller does',
    idle: 'no node has the taint',
    ...byNode(stores),
    about: (name) => `taint of node ${name}`,
    reconcile: async (name, signal) => {
      const node = stores.nodes.get(name);
      const patch = node && untaintPatch(node);
      if (node === undefined || patch === undefined) return {};
      if (!cluster.isAgentBased && readinessOf(node).isReady) return {};
      if (!(await isWanted(signal))) return {};
      try {
        await kube.patch({ kind: nodeKind, name }, patch, signal);
        note('info', `removed the cloud provider taint from ${name}`);
      } catch (error) {
        if (!isForbidden(error)) throw error;
        note('warn', 'may not remove the cloud provider taint', { code: error.code });
        wanted = Promise.resolve(false);
      }
      return {};
    },
  };
}

/** Progress of a host in the cluster. */
export interface HostSigns {
  /** Its node: missing, present, or Ready. */
  readonly node: 'none' | 'joined' | 'ready';
  /** The host has requested its Ignition from the config server of the cluster. */
  readonly hasAskedIgnition: boolean;
}

/** The last report of a host that the service has answered. */
interface AnsweredReport {
  readonly stage: Stage;
  /**
   * The service's record of the host when it refused the report; undefined for an accepted report.
   */
  readonly refusedAt?: string;
}

/**
 * The service's record of a host, as one text: the service accepts a refused report only after its
 * record has changed.
 */
const recordOf = ({ status, stage = '' }: InventoryHost): string => `${status}|${stage}`;

const positionOf = (stage: string | undefined): number => stages.findIndex((one) => one === stage);

/** Statuses of hosts whose stage is final. */
const ended: ReadonlySet<string> = new Set(['installed', 'error', 'disabled']);

/** Whether a host is on its way into the cluster. */
const isUnderWay = ({ status }: InventoryHost): boolean => !ended.has(status);

/**
 * The stage to report of a host next, or undefined. It is never a stage that the service already
 * has or has answered. A host whose node is Ready at once is Joined first, as in
 * assisted-installer-controller.
 */
export function nextStage(
  host: InventoryHost,
  { node, hasAskedIgnition }: HostSigns,
  answered?: AnsweredReport,
): Stage | undefined {
  if (!isUnderWay(host)) return undefined;
  const isOld = answered?.refusedAt !== undefined && answered.refusedAt !== recordOf(host);
  const reached = Math.max(positionOf(host.stage), isOld ? -1 : positionOf(answered?.stage));
  const isBelow = (stage: Stage): boolean => reached < positionOf(stage);
  if (node !== 'none' && isBelow('Joined')) return 'Joined';
  if (node === 'ready') return isBelow('Done') ? 'Done' : undefined;
  return hasAskedIgnition && isBelow('Configuring') ? 'Configuring' : undefined;
}

/** Whether the log of the config server can still add anything about a host. */
export const mayAskIgnition = (host: InventoryHost, node: HostSigns['node']): boolean =>
  isUnderWay(host) && node === 'none' && positionOf(host.stage) < positionOf('Configuring');
