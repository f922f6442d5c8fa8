// What the controllers of the Machine Config Operator write once they have decided.
import type { KubeObject } from '../../../src/ports/kube.ts';
import { kinds } from '../objects.ts';
import type { ClusterWork } from '../site.ts';
import { type ControllerDeed, isReady, type PoolView } from './controllers.ts';
import { hasRole, keyOf } from './objects.ts';
import type { LayeredSite } from './site.ts';

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
      layered.incidents.push(...wrongWithRollOut(view.pool.metadata.name, nodes));
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

/** How many masters keep a quorum while one of them is away. */
const QUORUM_AND_ONE = 3;

const isMaster = (node: KubeObject): boolean => hasRole(node, 'master') || hasRole(node, 'arbiter');

/** Why the operator must not be let at a pool yet, which restarts its nodes; nothing when it may. */
export function wrongWithRollOut(pool: string, nodes: readonly KubeObject[]): readonly string[] {
  const ready = nodes.filter((node) => isMaster(node) && isReady(node)).length;
  return pool === 'master' && ready < QUORUM_AND_ONE
    ? [`the roll-out of pool ${pool} began although of the masters only ${ready} were Ready`]
    : [];
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
