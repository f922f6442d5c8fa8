import { nodes as nodeKind, pods } from '../../cluster/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { type Millis, minutes } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { InstallingHost } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { gapIn, isForbidden } from '../../ports/kube-failures.ts';
import { hostIndexOf, nodesByHost } from '../cluster/inventory-hosts.ts';
import { followed, together } from '../cluster/kube-watch.ts';
import { controllerFailure } from './failures.ts';
import { ownedBy, runningPod } from './own-pod.ts';
import { type Action, type Decision, noLimit, reconcile } from '../reconcile.ts';
import { runPod } from './run-pod.ts';
import {
  type ControllerConfig,
  type ControllerScope,
  controllerStep,
  followedInstallation,
} from './world.ts';

/** On a node whose reboots the service has been told, so that a controller that starts again does not tell them again. */
const reportedAnnotation = 'bootwright.io/reboots-reported';

/** The label of the pods that count, and how their names begin. */
const countingApp = 'assisted-installer-reboots';

/** How long it is tried for one node. */
const longestCount = minutes(6);

const unlessAsked = (_: unknown, { controller }: ControllerConfig): string | undefined =>
  controller.notifyNumReboots ? undefined : 'nobody asked for it (NOTIFY_NUM_REBOOTS)';

/** Tells the users of the service how often each node has started before it was Done. */
export const countReboots = controllerStep({
  id: 'controller/count-reboots',
  title: 'Report how often each node has started',
  uses: ['kube', 'adminKube', 'inventory', 'clock'],
  skipIf: unlessAsked,
  limit: noLimit,
  waitsFor: 'each host to be Done',
  run: async (scope) => {
    const { clock, inventory, kube } = scope;
    const service = followedInstallation(inventory);
    const nodes = followed(kube, { kind: nodeKind });
    const begun = new Map<string, Millis>();
    const reported = new Set<string>();
    let isDenied = false;
    await reconcile<CountsSeen, Count>(scope, 'the starts of every node are reported', {
      watch: together(service.watch, nodes.watch),
      observe: () => ({
        hosts: service.view().cluster?.hosts,
        nodes: nodes.view().objects,
        gap: gapIn(nodes.view()),
        isOver: (name) =>
          isDenied ||
          reported.has(name) ||
          clock.elapsed() - (begun.get(name) ?? clock.elapsed()) >= longestCount,
      }),
      decide: countsDue,
      apply: async ({ host, node }) => {
        const { name } = node.metadata;
        if (!begun.has(name)) begun.set(name, clock.elapsed());
        try {
          const count = await countOn(scope, name);
          await report(scope, host, { name, count });
          // Before the annotation: what was told must not be told again because that fails.
          reported.add(name);
          await annotate(scope, node, count);
        } catch (error) {
          // What is refused once is not asked for again, on no node.
          isDenied ||= isForbidden(error);
          throw error;
        }
      },
    });
  },
});

/**
 * Waits for the counts of nodes that were Done before the installation ended, as long as one of them is tried. Those
 * of other hosts do not come any more. Pods that a controller before this one has left go then.
 */
export const waitForCounts = controllerStep({
  id: 'controller/wait-for-counts',
  title: 'Wait for the last reports of how often nodes have started',
  uses: ['kube', 'inventory', 'clock'],
  skipIf: unlessAsked,
  limit: longestCount + minutes(1),
  waitsFor: 'the starts of every node that is Done to be reported, at most six minutes',
  run: async (scope) => {
    const { config, inventory, kube, note, signal, until } = scope;
    const service = followedInstallation(inventory);
    const nodes = followed(kube, { kind: nodeKind });
    const poll = (): Promise<PollResult<true>> => {
      const { cluster, lastError } = service.view();
      if (cluster === undefined && lastError === undefined) {
        return Promise.resolve({ status: 'the service has not answered yet' });
      }
      const seen = { hosts: cluster?.hosts ?? [], nodes: nodes.view().objects };
      const { actions } = countsDue({ ...seen, gap: undefined, isOver: () => false });
      const gap = gapIn(nodes.view());
      if (gap === undefined && actions.length === 0) return Promise.resolve({ done: true });
      return Promise.resolve({ status: gap ?? actions.map(({ key }) => key).join(', ') });
    };
    const limits = { watch: together(service.watch, nodes.watch), within: longestCount };
    try {
      await until('the starts of the last nodes are reported', poll, limits);
    } catch (error) {
      signal.throwIfAborted();
      note('warn', 'going on without the starts of all nodes', { code: asAgentError(error).code });
    }
    const left = { kind: pods, namespace: config.namespace, labelSelector: `app=${countingApp}` };
    await kube.removeAll(left, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      const { code, message: reason } = asAgentError(error);
      note('warn', 'pods that counted could not be removed', { code, reason });
    });
  },
});

interface CountsSeen {
  /** Undefined until the service has listed them. */
  readonly hosts: readonly InstallingHost[] | undefined;
  readonly nodes: readonly KubeObject[];
  /** Why the nodes may not be all. */
  readonly gap: string | undefined;
  /** Whether nothing more is done about a node. */
  readonly isOver: (name: string) => boolean;
}

interface Count extends Action {
  readonly host: InstallingHost;
  readonly node: KubeObject;
}

/** The nodes whose reboots are to be counted: those of hosts that are Done. */
export function countsDue({ hosts, nodes, gap, isOver }: CountsSeen): Decision<Count> {
  if (hosts === undefined) return { actions: [], missing: 'the service has not answered yet' };
  const found = nodesByHost(nodes, hostIndexOf(hosts));
  const isOpen = ({ id }: InstallingHost): boolean => {
    const { name, annotations } = found.get(id)?.metadata ?? {};
    return name === undefined || (annotations?.[reportedAnnotation] === undefined && !isOver(name));
  };
  const open = hosts.filter(isOpen);
  const actions = open.flatMap((host) => {
    const node = found.get(host.id);
    if (host.stage !== 'Done' || node === undefined) return [];
    return [{ key: `reboots of node ${node.metadata.name}`, host, node }];
  });
  const left = open.filter(({ status }) => status !== 'error');
  return { actions, missing: gap ?? (left.length === 0 ? undefined : `${left.length} hosts left`) };
}

/** How often a node has started, by what `last reboot` prints on it. */
export const countIn = (printed: string): number =>
  printed.split('\n').filter((line) => line.startsWith('reboot ')).length;

type CountScope = ControllerScope<'kube' | 'adminKube' | 'inventory' | 'clock'>;

async function countOn(scope: CountScope, node: string): Promise<number> {
  const own = await runningPod(scope);
  const image = imageOf(own);
  if (image === undefined) throw notCounted(node, 'the pod of the controller was not found');
  const pod = ownedBy(own, countingPod({ namespace: scope.config.namespace, node, image }));
  const end = await runPod(scope, { pod, container: 'count', within: longestCount });
  if (!end.isSuccess) throw notCounted(node, end.log.trim().split('\n').at(-1) ?? '');
  return countIn(end.log);
}

const notCounted = (node: string, said: string): AgentError =>
  controllerFailure('controller.not-counted', `node ${node}: ${said.slice(0, 300)}`);

/** The image of the controller, which its nodes can pull: that of `oc debug` may be in no mirror. */
function imageOf(pod: KubeObject | undefined): string | undefined {
  const { spec } = (pod ?? {}) as {
    readonly spec?: { readonly containers?: readonly { readonly image?: string }[] };
  };
  return spec?.containers?.[0]?.image;
}

/** A pod that runs `last reboot` of the node itself, as `oc debug node/NAME -- chroot /host last reboot` does. */
export const countingPod = ({
  namespace,
  node,
  image,
}: {
  readonly namespace: string;
  readonly node: string;
  readonly image: string;
}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `${countingApp}-${node}`, namespace, labels: { app: countingApp } },
  spec: {
    activeDeadlineSeconds: longestCount / 1000,
    nodeName: node,
    hostPID: true,
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 0,
    automountServiceAccountToken: false,
    tolerations: [{ operator: 'Exists' }],
    containers: [
      {
        name: 'count',
        image,
        imagePullPolicy: 'IfNotPresent',
        command: ['nsenter', '--target', '1', '--mount', '--', 'last', 'reboot'],
        securityContext: { privileged: true, runAsUser: 0 },
        resources: { requests: { cpu: '10m', memory: '32Mi' } },
      },
    ],
  },
});

async function report(
  { inventory, signal }: CountScope,
  { id, infraEnvId }: InstallingHost,
  { name, count }: { readonly name: string; readonly count: number },
): Promise<void> {
  const message = `Node ${name} has been rebooted ${count} times before completing installation`;
  const event = { name: 'reboots_for_node', category: 'user', severity: 'info', message } as const;
  await inventory.addEvent({ ...event, hostId: id, infraEnvId }, signal);
}

async function annotate(
  { kube, signal, note }: CountScope,
  node: KubeObject,
  count: number,
): Promise<void> {
  const body = { metadata: { annotations: { [reportedAnnotation]: String(count) } } };
  const { name } = node.metadata;
  try {
    await kube.patch({ kind: nodeKind, name }, { type: 'merge', body }, signal);
  } catch (error) {
    signal.throwIfAborted();
    const { code, message: reason } = asAgentError(error);
    note('warn', `node ${name} could not be marked; its reboots may be reported again`, {
      ...{ code, reason },
    });
  }
}
