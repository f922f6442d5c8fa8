import {
  type AnsweredReport,
  type HostSigns,
  isOver,
  isUnderWay,
  mayAskIgnition,
  nextStage,
  recordOf,
} from '../../cluster/host-progress.ts';
import { nodes as nodeKind, pods } from '../../cluster/kinds.ts';
import { addressesAsking } from '../../cluster/mcs-log.ts';
import { internalAddresses, readinessOf } from '../../cluster/node.ts';
import { asAgentError } from '../../engine/failures.ts';
import { untilAborted } from '../../engine/wait.ts';
import { canonicalAddress } from '../../lib/address.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { Stage } from '../../model/stage.ts';
import type { InstallingHost, InventoryHost } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { gapIn, isForbidden } from '../../ports/kube-failures.ts';
import { type HostIndex, hostIndexOf, hostOf, nodesByHost } from '../cluster/inventory-hosts.ts';
import { followed, together } from '../cluster/kube-watch.ts';
import { type Tasks, tasksOf } from '../cluster/tasks.ts';
import { untaintOf } from '../cluster/untaint.ts';
import { NewCluster } from './new-cluster.ts';
import { type Action, type Decision, noLimit, reconcile } from '../reconcile.ts';
import { type ControllerScope, controllerStep, followedInstallation } from './world.ts';

/**
 * Reports the hosts whose nodes join and become Ready, and those that asked for their Ignition, until the service has
 * nothing more to hear. The cloud provider taint is removed where nobody else does.
 */
export const reportNodes = controllerStep({
  id: 'controller/report-nodes',
  title: 'Report the nodes that join and become Ready',
  uses: ['inventory', 'kube', 'clock'],
  needs: { cluster: NewCluster },
  limit: noLimit,
  waitsFor: 'the service to have every host as installed, or all others as failed',
  run: async (scope, { cluster }) => {
    const service = followedInstallation(scope.inventory);
    const nodes = followed(scope.kube, { kind: nodeKind });
    let notify = (): void => undefined;
    const tasks = tasksOf(scope, () => notify());
    const servers = followed(scope.kube, configServers);
    const logs = configServerLogs(scope, tasks, () => servers.view().objects);
    const { platform, serviceNetworks, vcenterServer = '' } = cluster;
    const untaint = untaintOf(scope, tasks, {
      controlPlaneReplicas: 0,
      arbiterReplicas: 0,
      ...(platform === '' ? {} : { platform }),
      vcenterServer,
      serviceNetworks,
    });
    const answers = new Map<string, AnsweredReport>();
    const noteOddNodes = oddNodeNotes(scope);
    try {
      await reconcile<HostsSeen, HostReport>(scope, 'every host is installed', {
        watch: together(service.watch, nodes.watch, servers.watch, (changed, signal) => {
          notify = changed;
          return untilAborted(signal);
        }),
        every: askLogsEvery,
        observe: () => {
          const there = nodes.view();
          // Where it is agent-based the wait for the end untaints all nodes, also without a service.
          if (!cluster.isAgentBased) untaint.start(there.objects);
          const hosts = service.view().cluster?.hosts;
          const index = hostIndexOf(hosts ?? none);
          if (hosts !== undefined) noteOddNodes(there.objects, index);
          const found = nodesByHost(there.objects, index);
          if (hosts?.some((host) => mayAskIgnition(host, nodeOf(found.get(host.id))))) logs.ask();
          const asked = new Set([...logs.asked()].map((address) => index.at(address)?.id));
          return { hosts, gap: gapIn(there), found, asked, answers };
        },
        decide: reportsDue,
        apply: (action, signal) => report({ ...scope, answers }, action, signal),
      });
    } finally {
      await tasks.close();
    }
  },
});

const none: readonly InstallingHost[] = [];

/** All that decides what is reported. */
interface HostsSeen {
  /** Undefined until the service has listed them. */
  readonly hosts: readonly InstallingHost[] | undefined;
  /** Why the nodes may not be all. */
  readonly gap: string | undefined;
  /** The node of each host that has one, by the id of the host. */
  readonly found: ReadonlyMap<string, KubeObject>;
  /** Ids of hosts that asked for Ignition. */
  readonly asked: ReadonlySet<string | undefined>;
  readonly answers: ReadonlyMap<string, AnsweredReport>;
}

interface HostReport extends Action {
  readonly host: InstallingHost;
  readonly stage: Stage;
}

/** How many hosts are named in a status. */
const mostNamed = 5;

/** The reports that are due, at most one for each host. */
export function reportsDue({ hosts, gap, found, asked, answers }: HostsSeen): Decision<HostReport> {
  if (hosts === undefined) return { actions: [], missing: 'the service has not answered yet' };
  if (isOver(hosts)) return { actions: [], missing: undefined };
  const waiting = hosts.filter(isUnderWay);
  const actions = waiting.flatMap((host) => {
    const signs: HostSigns = {
      node: nodeOf(found.get(host.id)),
      hasAskedIgnition: asked.has(host.id),
    };
    const stage = nextStage(host, signs, answers.get(host.id));
    return stage === undefined ? [] : [{ key: `${stage} of host ${nameOf(host)}`, host, stage }];
  });
  const named = waiting
    .slice(0, mostNamed)
    .map((host) => `${nameOf(host)} (${host.stage ?? host.status})`);
  const more = waiting.length > mostNamed ? [`${waiting.length - mostNamed} more`] : [];
  const open = waiting.length === 0 ? 'the service lists no hosts' : [...named, ...more].join(', ');
  return { actions, missing: gap ?? open };
}

const nameOf = ({ name, id }: InstallingHost): string => (name === '' ? id : name);

function nodeOf(node: KubeObject | undefined): HostSigns['node'] {
  if (node === undefined) return 'none';
  return readinessOf(node).isReady ? 'ready' : 'joined';
}

/** Notes each node once that is on no host, and each whose first address its host does not have. */
function oddNodeNotes({ note }: Pick<ControllerScope<'clock'>, 'note'>) {
  const checked = new Map<string, string>();
  // Of a thousand nodes one has changed.
  const seen = new WeakMap<KubeObject, InventoryHost | undefined>();
  return (nodes: readonly KubeObject[], index: HostIndex): void => {
    for (const node of nodes) {
      const host = hostOf(node, index);
      if (seen.has(node) && seen.get(node) === host) continue;
      seen.set(node, host);
      const { name } = node.metadata;
      const [first] = internalAddresses(node);
      const what = `${first} ${host?.id}`;
      // A node has no address for a moment.
      if (first === undefined || checked.get(name) === what) continue;
      checked.set(name, what);
      if (host === undefined) note('warn', `node ${name} is on no host of the service`);
      else if (!hasAddress(host, first)) {
        note('warn', `node ${name} has an address that its host did not have`, { address: first });
      }
    }
  };
}

const hasAddress = ({ addresses }: InventoryHost, canonical: string): boolean =>
  addresses.length === 0 || addresses.some((address) => canonicalAddress(address) === canonical);

/** Refusals that stay until the service has something else of the host. */
const answersOfService: ReadonlySet<string> = new Set([
  'inventory.refused',
  'inventory.not-found',
  'inventory.rejected',
]);

interface Reporting extends Pick<ControllerScope<'inventory'>, 'inventory' | 'note'> {
  readonly answers: Map<string, AnsweredReport>;
}

async function report(
  { inventory, note, answers }: Reporting,
  { host, stage }: HostReport,
  signal: AbortSignal,
): Promise<void> {
  const { id: hostId, infraEnvId } = host;
  try {
    await inventory.report({ infraEnvId, hostId }, { stage, info: '' }, signal);
    answers.set(hostId, { stage });
    // The last one may be what the service waits for.
    inventory.refresh();
    note('info', `${nameOf(host)} is ${stage}`, { host: hostId, stage });
  } catch (error) {
    const { code, message } = asAgentError(error);
    if (signal.aborted || !answersOfService.has(code)) throw error;
    answers.set(hostId, { stage, refusedAt: recordOf(host) });
    note('warn', `the service refuses ${stage} of ${nameOf(host)}`, { code, reason: message });
  }
}

/** The pods that give each host its Ignition. */
const configServers = {
  kind: pods,
  namespace: 'openshift-machine-config-operator',
  labelSelector: 'k8s-app=machine-config-server',
} as const;

/** A log cannot be watched, so it is asked for this often, while a host may appear in it. */
const askLogsEvery: Millis = seconds(10);

/** What was logged while the last request was on its way is asked for again. */
const overlap: Millis = seconds(5);

interface ConfigServerLogs {
  /** Addresses that asked for Ignition, in all that was ever read. */
  readonly asked: () => ReadonlySet<string>;
  /** Reads what is new, unless that was done a short time ago. */
  readonly ask: () => void;
}

/** Reads the logs of the config servers: the whole of each at first, as a controller before this one may have died. */
function configServerLogs(
  { kube, clock, note }: ControllerScope<'kube' | 'clock'>,
  tasks: Tasks,
  servers: () => readonly KubeObject[],
): ConfigServerLogs {
  const asked = new Set<string>();
  const readAt = new Map<string, number>();
  const noted = new Set<string>();
  let isDenied = false;
  const readOne = async (pod: KubeObject, signal: AbortSignal): Promise<void> => {
    const { name, uid = name } = pod.metadata;
    const last = readAt.get(uid);
    const now = clock.elapsed();
    const since = last === undefined ? undefined : Math.ceil((now - last + overlap) / seconds(1));
    const text = await kube.podLog({ namespace: configServers.namespace, name }, since, signal);
    for (const address of addressesAsking(text)) asked.add(address);
    readAt.set(uid, now);
  };
  const readAll = async (signal: AbortSignal): Promise<void> => {
    // One after the other: each may be large.
    for (const pod of servers()) {
      try {
        await readOne(pod, signal);
      } catch (error) {
        signal.throwIfAborted();
        const { code, message } = asAgentError(error);
        isDenied = isForbidden(error);
        if (!noted.has(code)) {
          note('warn', 'cannot read a log of the config server', { code, reason: message });
        }
        noted.add(code);
        if (isDenied) return;
      }
    }
  };
  return {
    asked: () => asked,
    ask: () => {
      if (!isDenied) tasks.run('read the logs of the config server', askLogsEvery, readAll);
    },
  };
}
