import { hostIndexOf, hostOf, ownNode } from '../../cluster/host-index.ts';
import { nodes as nodeKind, pods } from '../../cluster/kinds.ts';
import type { PollResult } from '../../engine/wait.ts';
import { noteFailed } from '../../engine/failures.ts';
import { type Millis, minutes } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { InstallingHost } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { gapIn, isForbidden } from '../../ports/kube-failures.ts';
import { followed, together } from '../../steps/cluster/kube-watch.ts';
import { controllerFailure } from './failures.ts';
import { performActions } from '../../reconcile/actions.ts';
import type { Controller } from '../../reconcile/manager.ts';
import {
  byHost,
  type HostAndNode,
  type InstallationScope,
  type InstallationStores,
  nodeNameOf,
} from './stores.ts';
import { ownedBy, runningPod, runPod } from './run-pod.ts';
import { controllerStep, followedInstallation } from './step.ts';

/** On a node whose reboots the service has been told, so that a controller that starts again does not tell them again. */
const reportedAnnotation = 'bootwright.io/reboots-reported';

/** The label of the pods that count, and how their names begin. */
const countingApp = 'assisted-installer-reboots';

/** How long it is tried for one node. */
const longestCount = minutes(6);

interface Count {
  readonly type: 'count';
  /** Name of the node. */
  readonly target: string;
  readonly host: InstallingHost;
  readonly node: KubeObject;
}

/** The count of the reboots of a host that is Done. */
export function countsDue({ host, node }: HostAndNode): readonly Count[] {
  if (host?.stage !== 'Done' || node === undefined) return [];
  const { name, annotations } = node.metadata;
  const isReported = annotations?.[reportedAnnotation] !== undefined;
  return isReported ? [] : [{ type: 'count', target: name, host, node }];
}

/** Tells the users of the service how often each node has started before it was Done. */
export function countController(scope: InstallationScope, stores: InstallationStores): Controller {
  const { clock } = scope;
  const begun = new Map<string, Millis>();
  const reported = new Set<string>();
  let isDenied = false;
  const isOver = (name: string): boolean =>
    isDenied ||
    reported.has(name) ||
    clock.elapsed() - (begun.get(name) ?? clock.elapsed()) >= longestCount;
  const decide = (seen: HostAndNode): readonly Count[] =>
    countsDue(seen).filter(({ target }) => !isOver(target));
  return {
    id: 'controller/count-reboots',
    title: 'Report how often each node has started',
    idle: 'no node is Done whose starts are not reported',
    ...byHost(stores),
    about: (id) => `reboots of node ${nodeNameOf(stores, id)}`,
    reconcile: async (id, signal) => {
      await performActions(
        {
          ...{ seen: stores.seenOf(id), decide, readAgain: stores.readAgain },
          table: {
            count: async ({ target: name, host, node }, inner) => {
              if (!begun.has(name)) begun.set(name, clock.elapsed());
              const own = { ...scope, signal: inner };
              try {
                const count = await countOn(own, name);
                await report(own, host, { name, count });
                // Before the annotation: what was told must not be told again because that fails.
                reported.add(name);
                await annotate(own, node, count);
              } catch (error) {
                // What is refused once is not asked for again, on no node.
                isDenied ||= isForbidden(error);
                throw error;
              }
            },
          },
        },
        signal,
      );
      return {};
    },
  };
}

/**
 * Waits for the counts of nodes that were Done before the installation ended, as long as one of them is tried. Those
 * of other hosts do not come any more. Pods that a controller before this one has left go then.
 */
export const waitForCounts = controllerStep({
  id: 'controller/wait-for-counts',
  title: 'Wait for the last reports of how often nodes have started',
  uses: ['kube', 'inventory', 'clock'],
  skipIf: (_, { controller }) =>
    controller.notifyNumReboots ? undefined : 'nobody asked for it (NOTIFY_NUM_REBOOTS)',
  limit: longestCount + minutes(1),
  waitsFor: 'the starts of every node that is Done to be reported, at most six minutes',
  run: async (scope) => {
    const { config, inventory, kube, signal, until } = scope;
    const service = followedInstallation(inventory);
    const nodes = followed(kube, { kind: nodeKind });
    const poll = (): Promise<PollResult<true>> => {
      const { cluster, lastError } = service.view();
      if (cluster === undefined && lastError === undefined) {
        return Promise.resolve({ status: 'the service has not answered yet' });
      }
      const hosts = cluster?.hosts ?? [];
      const index = hostIndexOf(hosts);
      const found = Map.groupBy(nodes.view().objects, (node) => hostOf(node, index)?.id);
      const due = hosts.flatMap((host) =>
        countsDue({ host, node: ownNode(found.get(host.id) ?? [], index) }),
      );
      const gap = gapIn(nodes.view());
      if (gap === undefined && due.length === 0) return Promise.resolve({ done: true });
      const status = due.map(({ target }) => `reboots of node ${target}`).join(', ');
      return Promise.resolve({ status: gap ?? status });
    };
    const limits = { watch: together(service.watch, nodes.watch), within: longestCount };
    try {
      await until('the starts of the last nodes are reported', poll, limits);
    } catch (error) {
      noteFailed(scope, 'continuing without the starts of all nodes', error);
    }
    const left = { kind: pods, namespace: config.namespace, labelSelector: `app=${countingApp}` };
    await kube.removeAll(left, signal).catch((error: unknown) => {
      noteFailed(scope, 'pods that counted could not be removed', error);
    });
  },
});

/** How often a node has started, by what `last reboot` prints on it. */
export const countIn = (printed: string): number =>
  printed.split('\n').filter((line) => line.startsWith('reboot ')).length;

type CountScope = InstallationScope & { readonly signal: AbortSignal };

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
    const consequence = 'its reboots may be reported again';
    noteFailed({ signal, note }, `node ${name} could not be marked; ${consequence}`, error);
  }
}
