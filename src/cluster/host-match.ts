import type { InventoryHost } from '../ports/inventory.ts';
import type { KubeObject } from '../ports/kube.ts';
import { canonicalAddress } from '../lib/address.ts';
import { internalAddresses } from './node.ts';

/** Finds hosts of the inventory service by what a cluster knows of them. */
export interface HostIndex {
  /** By name in any case, the last of that name. */
  readonly named: (name: string) => InventoryHost | undefined;
  /**
   * By a whole address in its one spelling. An address that several hosts have, of a bridge that each
   * makes for itself for example, is of none.
   */
  readonly at: (address: string) => InventoryHost | undefined;
}

/** Makes an index of hosts. A host without addresses is found at none. */
export function hostIndexOf(hosts: readonly InventoryHost[]): HostIndex {
  const byName = new Map(
    hosts.filter(({ name }) => name !== '').map((host) => [host.name.toLowerCase(), host]),
  );
  const byAddress = new Map<string, InventoryHost | undefined>();
  for (const host of hosts) {
    for (const address of new Set(host.addresses.map(canonicalAddress))) {
      if (address === undefined) continue;
      byAddress.set(address, byAddress.has(address) ? undefined : host);
    }
  }
  return {
    named: (name) => byName.get(name.toLowerCase()),
    at: (address) => byAddress.get(address),
  };
}

/**
 * The host that a node runs on: by the node's name, else by its addresses inside the cluster, the
 * last that a host has (assisted-installer, `getInventoryHost`, same rule).
 */
export const hostOfNode = (node: KubeObject, hosts: HostIndex): InventoryHost | undefined =>
  hosts.named(node.metadata.name) ??
  internalAddresses(node)
    .map((address) => hosts.at(address))
    .findLast((host) => host !== undefined);
