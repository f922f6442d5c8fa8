import { stringify } from 'yaml';
import { events, pods } from '../../../cluster/kinds.ts';
import { operatorNamespace } from '../../../layering/manifests/bootstrap-manifests.ts';
import { listAt, partOf, textAt } from '../../../layering/api/cluster-object.ts';
import type { KubeObject } from '../../../ports/kube.ts';
import type { Bundle } from './bundle.ts';
import { type ClusterScope, listed, within } from './cluster-look.ts';

/** An installation is shorter. */
const sinceSeconds = 24 * 3600;

/** In a large cluster there is a daemon on every node. */
const mostLogs = 20;

const daemon = 'machine-config-daemon';
const proxy = 'kube-rbac-proxy';

/** Gathers what the Machine Config Operator does: its pods, what happened to them, and what they say. */
export async function addOperatorPieces(scope: ClusterScope, bundle: Bundle): Promise<void> {
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
