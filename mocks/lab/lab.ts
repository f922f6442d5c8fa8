import type { LayeredSite } from '../cluster/layering/site.ts';
import type { ClusterLife } from '../cluster/run-cluster.ts';
import type { InventoryServer } from '../inventory/server.ts';
import type { ObjectStore } from '../objects/server.ts';
import type { KubeParts } from '../kube/start.ts';
import type { Scenario } from './scenario.ts';

/** What every host of a play shares. */
export interface Lab {
  readonly scenario: Scenario;
  readonly inventory: InventoryServer;
  readonly objects: ObjectStore;
  readonly token: string;
  /** The cluster that is born; none where no host bootstraps one. */
  readonly life: ClusterLife | undefined;
  /** What is around a cluster whose operating systems are built. */
  readonly layered: LayeredSite | undefined;
  /** The bundle of the agent. */
  readonly bundle: string;
  /** What its API server is started from; undefined where no cluster is born. */
  readonly kube: KubeParts | undefined;
  /** Aborted when the lab's time is over or somebody stopped it. */
  readonly signal: AbortSignal;
}
