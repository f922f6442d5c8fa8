import { stringify } from 'yaml';
import {
  events,
  jobs,
  machineConfigNodes,
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
  pods,
} from '../../cluster/kinds.ts';
import { engineFailure } from '../../engine/failures.ts';
import { limited } from '../../engine/limit.ts';
import { isOperatorKey, listAt, partOf, textAt } from '../../layering/api/cluster-object.ts';
import type { Fields } from '../../layering/api/schema.ts';
import { isRendered, machineConfigShape } from '../../layering/log-bundle.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import { seconds } from '../../model/duration.ts';
import type { KubeObject, KubeSelection } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';
import type { Bundle } from './log-bundle.ts';

interface ClusterLog extends KubeSelection {
  readonly name: string;
  readonly show: (objects: readonly KubeObject[]) => string;
}

const asYaml = (objects: readonly object[]): string =>
  objects.map((object) => stringify(object, { lineWidth: 0 })).join('---\n');

/** Of a node only what the Machine Config Operator goes by. */
const nodeShape = ({ metadata, status }: KubeObject): object => {
  const { name, labels, annotations = {} } = metadata;
  const own = Object.entries(annotations).filter(([key]) => isOperatorKey(key));
  const conditions = (status as { readonly conditions?: unknown } | undefined)?.conditions;
  return {
    metadata: { name, labels, annotations: Object.fromEntries(own) },
    status: { conditions },
  };
};

const dumps: readonly ClusterLog[] = [
  { name: 'machineosconfigs', kind: machineOSConfigs, show: asYaml },
  { name: 'machineosbuilds', kind: machineOSBuilds, show: asYaml },
  { name: 'machineconfigpools', kind: machineConfigPools, show: asYaml },
  { name: 'machineconfignodes', kind: machineConfigNodes, show: asYaml },
  { name: 'jobs', kind: jobs, namespace: operatorNamespace, show: asYaml },
  { name: 'nodes', kind: nodes, show: (objects) => asYaml(objects.map(nodeShape)) },
  {
    name: 'machineconfigs',
    kind: machineConfigs,
    show: (objects) =>
      objects
        .filter(({ metadata }) => isRendered(metadata.name))
        .map((object) => machineConfigShape(object as unknown as Fields))
        .join('---\n'),
  },
];

/** Gathers what the API shows of the pools, their images, their nodes and their operator; there is none before it is born. */
export async function addClusterLogs(scope: ClusterScope, bundle: Bundle): Promise<void> {
  await Promise.all([
    ...dumps.map(({ name, show, ...selection }) =>
      bundle.add(`cluster-${name}.yaml`, async () => show(await listed(scope, selection))),
    ),
    addOperatorLogs(scope, bundle),
  ]);
}

/** An installation is shorter. */
const sinceSeconds = 24 * 3600;

/** In a large cluster there is a daemon on every node. */
const mostLogs = 20;

const daemon = 'machine-config-daemon';
const proxy = 'kube-rbac-proxy';

/** Gathers what the Machine Config Operator does: its pods, what happened to them, and what they say. */
async function addOperatorLogs(scope: ClusterScope, bundle: Bundle): Promise<void> {
  const namespace = operatorNamespace;
  const found = listed(scope, { kind: pods, namespace });
  await Promise.all([
    bundle.add('cluster-pods.yaml', async () =>
      (await found).map((pod) => stringify(podShape(pod), { lineWidth: 0 })).join('---\n'),
    ),
    bundle.add('cluster-events.txt', async () =>
      eventLines(await listed(scope, { kind: events, namespace })),
    ),
  ]);
  const logs = logsOf(await found.catch(() => []));
  await Promise.all(
    logs.map(({ pod, container }) =>
      bundle.add(`pod-${pod}-${container}.log`, () =>
        within(scope, (signal) =>
          scope.kube.podLog({ namespace, name: pod, container }, sinceSeconds, signal),
        ),
      ),
    ),
  );
}

/** Of a pod where it runs and how it fares; nothing of what it was given. */
const podShape = ({ metadata, spec, status }: KubeObject): object => {
  const { name, labels, creationTimestamp } = metadata;
  const { nodeName } = (spec ?? {}) as { readonly nodeName?: string };
  return { metadata: { name, labels, creationTimestamp }, spec: { nodeName }, status };
};

interface PodLog {
  readonly pod: string;
  readonly container: string;
}

/** The controllers and builds first; what checks who asks for metrics has nothing to say. */
function logsOf(found: readonly KubeObject[]): readonly PodLog[] {
  const all = found.flatMap((object) =>
    listAt(object, 'spec', 'containers').flatMap((one): readonly PodLog[] => {
      const { name: container } = one as { readonly name: string };
      return container === proxy ? [] : [{ pod: object.metadata.name, container }];
    }),
  );
  const isOfDaemon = ({ container }: PodLog): boolean => container === daemon;
  return [...all.filter((one) => !isOfDaemon(one)), ...all.filter(isOfDaemon)].slice(0, mostLogs);
}

/** A line for each event, the oldest first. */
const eventLines = (found: readonly KubeObject[]): string =>
  found
    .map((event) => ({ event, at: timeOf(event) }))
    .toSorted((one, other) => one.at.localeCompare(other.at))
    .map(({ event, at }) => {
      const object = `${textAt(event, 'involvedObject', 'kind')}/${textAt(event, 'involvedObject', 'name')}`;
      const times = partOf(event, 'count');
      const often = typeof times === 'number' && times > 1 ? ` (${times} times)` : '';
      return `${at} ${textAt(event, 'type')} ${textAt(event, 'reason')} ${object}: ${textAt(event, 'message')}${often}\n`;
    })
    .join('');

const timeOf = (event: KubeObject): string =>
  textAt(event, 'lastTimestamp') ||
  textAt(event, 'eventTime') ||
  (event.metadata.creationTimestamp ?? '');

/** What a look into the cluster takes. */
type ClusterScope = Pick<StepScope<'kube' | 'clock'>, 'kube' | 'clock' | 'signal'>;

/** An API server that is not there must not hold a report of the failure up. */
const longestPoll = seconds(20);

/** Asks the API server for something. @throws AgentError `step.timed-out` when it does not answer in time, `kube.*` */
const within = <T>(
  { clock, signal }: ClusterScope,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> =>
  limited(
    clock,
    {
      limit: longestPoll,
      signal,
      late: () => engineFailure('step.timed-out', 'the API server did not answer'),
    },
    ask,
  );

/** The objects of a selection. @throws AgentError as above */
const listed = (scope: ClusterScope, selection: KubeSelection): Promise<readonly KubeObject[]> =>
  within(scope, (signal) => scope.kube.list(selection, signal));
