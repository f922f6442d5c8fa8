import type { InventoryServer } from '../inventory/server.ts';
import type { ObjectStore } from '../objects/server.ts';
import type { Scenario } from './scenario.ts';

/** What every host of a play shares. */
export interface Lab {
  readonly scenario: Scenario;
  readonly inventory: InventoryServer;
  readonly objects: ObjectStore;
  readonly token: string;
  /** The bundle of the agent. */
  readonly bundle: string;
  /** Aborted when the lab's time is over or somebody stopped it. */
  readonly signal: AbortSignal;
}
