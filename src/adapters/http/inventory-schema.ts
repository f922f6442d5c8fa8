// What the agent reads of the inventory service's records (assisted-service swagger), permissive:
// whatever else they hold is left alone.
import * as z from 'zod';
import type { InventoryCluster, InventoryHost } from '../../ports/inventory.ts';
import { inventoryAddress } from './inventory-address.ts';

/** A text that the service may leave out, or send as null. */
const text = z.string().nullish();

/** A cluster on the wire. */
export const WireCluster = z
  .object({
    id: z.string(),
    kind: text,
    platform: z.object({ type: text }).nullish(),
    install_config_overrides: text,
  })
  .transform(({ id, kind, platform, install_config_overrides: overrides }): InventoryCluster => ({
    id,
    kind: kind ?? 'Cluster',
    ...(platform?.type ? { platformType: platform.type } : {}),
    ...(overrides ? { installConfigOverrides: overrides } : {}),
  }));

/** A host on the wire; `inventory` is JSON inside a string, and mostly left out. */
const WireHost = z
  .object({
    id: z.string(),
    infra_env_id: text,
    requested_hostname: text,
    role: text,
    bootstrap: z.boolean().nullish(),
    status: text,
    progress: z.object({ current_stage: text }).nullish(),
    inventory: text,
  })
  .transform((host): InventoryHost => ({
    id: host.id,
    infraEnvId: host.infra_env_id ?? '',
    name: host.requested_hostname ?? '',
    role: host.role ?? '',
    status: host.status ?? '',
    ...(host.progress?.current_stage ? { stage: host.progress.current_stage } : {}),
    addresses: addressesIn(host.inventory ?? ''),
  }));

/** Hosts on the wire; none is `null` there. */
export const WireHosts = z
  .array(WireHost)
  .nullish()
  .transform((hosts) => hosts ?? []);

/** The hosts of a cluster that was asked for with them. */
export const WireClusterHosts = z.object({ hosts: WireHosts }).transform(({ hosts }) => hosts);

/** A host that a user took out of the cluster is not installed, and not waited for. */
export const isEnabled = ({ status }: InventoryHost): boolean => status !== 'disabled';

const Addresses = z.object({
  interfaces: z
    .array(
      z.object({
        ipv4_addresses: z.array(z.string()).nullish(),
        ipv6_addresses: z.array(z.string()).nullish(),
      }),
    )
    .nullish(),
});

/**
 * Addresses in their canonical form, those of version 4 first on each interface; what cannot be read
 * is left out. (The agent being replaced fails the whole call for one bad inventory.)
 */
function addressesIn(inventory: string): readonly string[] {
  if (inventory === '') return [];
  let value: unknown;
  try {
    value = JSON.parse(inventory);
  } catch {
    return [];
  }
  const found = Addresses.safeParse(value).data?.interfaces ?? [];
  return found
    .flatMap(({ ipv4_addresses: v4, ipv6_addresses: v6 }) => [...(v4 ?? []), ...(v6 ?? [])])
    .map((address) => inventoryAddress(address))
    .filter((address) => address !== undefined);
}
