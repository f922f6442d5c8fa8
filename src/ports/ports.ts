import type { Clock } from './clock.ts';
import type { Host } from './host.ts';
import type { ImageRelay } from './image-relay.ts';
import type { Inventory, Reports } from './inventory.ts';
import type { Kube } from './kube.ts';
import type { Objects } from './objects.ts';
import type { Random } from './random.ts';
import type { Web } from './web.ts';

/** All ports of the steps. A step gets only the ports that it names in `uses`. */
export interface Ports {
  readonly host: Host;
  readonly inventory: Inventory;
  readonly reports: Reports;
  readonly kube: Kube;
  readonly web: Web;
  readonly objects: Objects;
  readonly imageRelay: ImageRelay;
  readonly clock: Clock;
  readonly random: Random;
}
