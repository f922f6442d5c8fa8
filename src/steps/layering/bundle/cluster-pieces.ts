import { stringify } from 'yaml';
import {
  jobs,
  machineConfigNodes,
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
} from '../../../cluster/kinds.ts';
import { operatorNamespace } from '../../../layering/manifests/bootstrap-manifests.ts';
import { isRendered, machineConfigShape } from '../../../layering/log-bundle.ts';
import { isOperatorKey } from '../../../layering/api/cluster-object.ts';
import type { Members } from '../../../layering/api/schema.ts';
import type { KubeObject, KubeSelection } from '../../../ports/kube.ts';
import type { Bundle } from './bundle.ts';
import { type ClusterScope, listed } from './cluster-look.ts';
import { addOperatorPieces } from './operator-pieces.ts';

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
  { name: 'machineconfignodes', kind: machineConfigNodes, show: asYaml },
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

/** Gathers what the API shows of the pools, their images, their nodes and their operator; there is none before it is born. */
export async function addClusterPieces(scope: ClusterScope, bundle: Bundle): Promise<void> {
  await Promise.all([
    ...pieces.map(({ name, show, ...selection }) =>
      bundle.add(`cluster-${name}.yaml`, async () => show(await listed(scope, selection))),
    ),
    addOperatorPieces(scope, bundle),
  ]);
}
