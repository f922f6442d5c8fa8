// The first report leaves by this, before the rest of the program is loaded: keep what it imports small.
import { systemClock } from '../adapters/clock.ts';
import {
  type Connection,
  connection,
  type ConnectionOptions,
} from '../adapters/http/connection.ts';
import type { InventoryOptions } from '../adapters/http/inventory-client.ts';
import { type InventoryConnection, inventoryV1, inventoryV2 } from '../adapters/http/inventory.ts';
import type { RetryNotice } from '../adapters/http/retry.ts';
import { systemRandom } from '../adapters/random.ts';
import type { Config } from '../config/schema.ts';
import type { Millis } from '../model/duration.ts';
import type { EventHub } from './run-context.ts';

/** What is known of the service and its cluster; who works for no host names none. */
interface InventoryTarget {
  readonly service: Pick<Config['service'], 'api' | 'url' | 'token' | 'insecure'>;
  readonly cluster: Pick<Config['cluster'], 'id'> &
    Partial<Pick<Config['cluster'], 'infraEnvId' | 'hostId'>>;
}

/** How the service is reached. */
interface OpenOptions {
  /** Connections that are open already. */
  readonly opened?: Connection | undefined;
  readonly network?: ConnectionOptions;
  readonly onRetry?: NonNullable<InventoryOptions['onRetry']>;
  /** Of one report with its retries. */
  readonly reportLimit?: Millis;
}

/** Opens the inventory service by the version of its interface, for whatever command. */
export function openInventory(
  { service, cluster: { id, infraEnvId = '', hostId = '' } }: InventoryTarget,
  { opened, network, ...how }: OpenOptions,
): InventoryConnection {
  const options: InventoryOptions = {
    ...{ clock: systemClock, random: systemRandom, clusterId: id, infraEnvId, hostId, ...how },
    url: service.url.reveal(),
    token: service.token,
    opened: opened ?? connection({ ...network, isInsecure: service.insecure }),
  };
  switch (service.api) {
    case 'v2':
      return inventoryV2(options);
    case 'v1':
      return inventoryV1(options, '/api/assisted-install/v1');
    case 'bm-inventory-v1':
      return inventoryV1(options, '/api/bm-inventory/v1');
  }
}

/** Logs each retry of a request. */
export const emitRetries =
  (emit: EventHub['emit']) =>
  ({ what, failure, attempt, delay }: RetryNotice & { readonly what: string }): void => {
    emit({
      type: 'note',
      step: 'service/retry',
      level: 'warn',
      message: 'a request failed and will be retried',
      fields: { what, code: failure.code, reason: failure.message, attempt, delay },
    });
  };
