import { stringify } from 'yaml';
import {
  jobs,
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
} from '../../../cluster/kinds.ts';
import { engineFailure } from '../../../engine/failures.ts';
import { limited } from '../../../engine/limit.ts';
import { operatorNamespace } from '../../../layering/bootstrap-manifests/secret.ts';
import {
  isRendered,
  machineConfigShape,
} from '../../../layering/log-bundle/machine-config-shape.ts';
import { isOperatorKey } from '../../../layering/node-keys.ts';
import type { Members } from '../../../layering/schema/schema.ts';
import { seconds } from '../../../model/duration.ts';
import type { KubeObject, KubeSelection } from '../../../ports/kube.ts';
import type { StepScope } from '../../step.ts';
import type { Bundle } from './bundle.ts';

type ClusterScope = Pick<StepScope<'kube' | 'clock'>, 'kube' | 'clock' | 'signal'>;

/** An API server that is not there must not hold a report of the failure up. */
const longestLook = seconds(20);

interface ClusterPiece extends KubeSelection {
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

const pieces: readonly ClusterPiece[] = [
  { name: 'machineosconfigs', kind: machineOSConfigs, show: asYaml },
  { name: 'machineosbuilds', kind: machineOSBuilds, show: asYaml },
  { name: 'machineconfigpools', kind: machineConfigPools, show: asYaml },
  { name: 'jobs', kind: jobs, namespace: operatorNamespace, show: asYaml },
  { name: 'nodes', kind: nodes, show: (objects) => asYaml(objects.map(nodeShape)) },
  {
    name: 'machineconfigs',
    kind: machineConfigs,
    show: (objects) =>
      objects
        .filter(({ metadata }) => isRendered(metadata.name))
        .map((object) => machineConfigShape(object as unknown as Members))
        .join('---\n'),
  },
];

/** Gathers what the API shows of the pools, their images and their nodes; there is none before it is born. */
export async function addClusterPieces(scope: ClusterScope, bundle: Bundle): Promise<void> {
  await Promise.all(
    pieces.map(({ name, show, ...selection }) =>
      bundle.add(`cluster-${name}.yaml`, async () => show(await listed(scope, selection))),
    ),
  );
}

const listed = (
  { kube, clock, signal }: ClusterScope,
  selection: KubeSelection,
): Promise<readonly KubeObject[]> =>
  limited(
    clock,
    {
      limit: longestLook,
      signal,
      late: () => engineFailure('step.timed-out', 'the API server did not answer'),
    },
    (inner) => kube.list(selection, inner),
  );
