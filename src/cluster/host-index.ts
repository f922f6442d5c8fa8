import { canonicalAddress } from '../lib/address.ts';
import { type InventoryHost, isBeingInstalled } from '../ports/inventory.ts';
import type { KubeObject } from '../ports/kube.ts';
import { internalAddresses } from './node.ts';

/** Finds hosts of the inventory service by what a cluster knows of them. */
export interface HostIndex {
  /**
   * By name, ignoring case; the last of that name, of those that are being installed where some
   * are.
   */
  readonly named: (name: string) => InventoryHost | undefined;
  /**
   * By an address in canonical form. An address that several hosts have, such as that of a bridge
   * that each creates, finds none.
   */
  readonly at: (address: string) => InventoryHost | undefined;
  /** All that have an address in canonical form. */
  readonly allAt: (address: string) => readonly InventoryHost[];
}

const indexes = new WeakMap<readonly InventoryHost[], HostIndex>();

/**
 * The index of hosts, made once for a list: nodes and requests change many times a second, hosts do
 * not.
 */
export function hostIndexOf(hosts: readonly InventoryHost[]): HostIndex {
  const index = indexes.get(hosts) ?? makeIndex(hosts);
  indexes.set(hosts, index);
  return index;
}

function makeIndex(hosts: readonly InventoryHost[]): HostIndex {
  const ordered = hosts.toSorted(
    (one, other) => Number(isBeingInstalled(one)) - Number(isBeingInstalled(other)),
  );
  const byName = new Map(
    ordered.filter(({ name }) => name !== '').map((host) => [host.name.toLowerCase(), host]),
  );
  const byAddress = new Map<string, readonly InventoryHost[]>();
  for (const host of hosts) {
    for (const address of new Set(host.addresses.map(canonicalAddress))) {
      if (address !== undefined) byAddress.set(address, [...(byAddress.get(address) ?? []), host]);
    }
  }
  return {
    named: (name) => byName.get(name.toLowerCase()),
    at: (address) => {
      const [host, ...others] = byAddress.get(address) ?? [];
      return others.length === 0 ? host : undefined;
    },
    allAt: (address) => byAddress.get(address) ?? [],
  };
}

/**
 * The host that a node runs on: by the node's name, else by its addresses inside the cluster, the
 * last that a host has (assisted-installer, `getInventoryHost`, same rule). The addresses are read
 * only where its name is that of no host.
 */
export const hostOf = (node: KubeObject, hosts: HostIndex): InventoryHost | undefined =>
  hosts.named(node.metadata.name) ??
  internalAddresses(node)
    .map((address) => hosts.at(address))
    .findLast((host) => host !== undefined);

/**
 * Of nodes that are on one host that of its name, else the last: a host that was called localhost
 * at first has that node too.
 */
export const ownNode = (nodes: readonly KubeObject[], hosts: HostIndex): KubeObject | undefined =>
  nodes.find(({ metadata: { name } }) => hosts.named(name) !== undefined) ?? nodes.at(-1);
