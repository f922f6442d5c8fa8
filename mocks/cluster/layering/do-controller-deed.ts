// What the controllers of the Machine Config Operator write once they have decided.
import type { KubeObject } from '../../../src/ports/kube.ts';
import { kinds } from '../kinds.ts';
import type { ClusterWork } from '../site.ts';
import type { ControllerDeed, PoolView } from './controllers.ts';
import { keyOf } from './objects.ts';
import type { LayeredSite } from './site.ts';
import { wrongWithRollOut } from './switch-order.ts';

/** Where the builder's jobs run. */
export const operatorNamespace = 'openshift-machine-config-operator';

/** A deed, and what it was decided on. */
interface Doing {
  readonly layered: LayeredSite;
  readonly deed: ControllerDeed;
  readonly view: PoolView;
  /** Every node of the cluster. */
  readonly nodes: readonly KubeObject[];
}

/** Does on the API server what a controller has decided; what nobody may need is an incident. */
export async function doControllerDeed(
  work: ClusterWork,
  { layered, deed, view, nodes }: Doing,
): Promise<void> {
  const { client } = work.kube;
  switch (deed.kind) {
    case 'take-image':
      layered.incidents.push(
        `the image was taken off node ${deed.node}, whose pool nobody layered`,
      );
      await client.merge(nodeRef(deed.node), desiredImage(null));
      return;
    case 'roll-out':
      layered.incidents.push(...wrongRollOut(layered, deed.node, { view, nodes }));
      await client.merge(nodeRef(deed.node), desiredImage(deed.image));
      return;
    case 'start-build':
      if (layered.plan.fallsBack !== true) {
        layered.incidents.push(`the cluster builds for pool ${deed.pool}: ${deed.because}`);
      }
      await client.create(kinds.Job, buildJob(deed.pool, view));
      return;
  }
}

function wrongRollOut(
  { plan }: LayeredSite,
  node: string,
  { view, nodes }: Pick<Doing, 'view' | 'nodes'>,
): readonly string[] {
  const tooEarly = wrongWithRollOut(view.pool.metadata.name, nodes);
  return [
    ...(tooEarly === undefined ? [] : [tooEarly]),
    ...(plan.isSwitched === true
      ? [`the operator moves node ${node}, which was to be switched`]
      : []),
  ];
}

const nodeRef = (name: string) => ({ kind: kinds.Node, name });

const desiredImage = (image: string | null): object => ({
  metadata: { annotations: { [keyOf('desiredImage')]: image } },
});

const buildJob = (pool: string, { pool: { metadata } }: PoolView): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: `build-${pool}-${metadata.uid ?? ''}`, namespace: operatorNamespace },
  spec: {
    template: {
      spec: {
        restartPolicy: 'Never',
        containers: [{ name: 'image-build', image: 'registry.example.test/mco:1' }],
      },
    },
  },
});
