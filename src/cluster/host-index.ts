import { canonicalAddress } from '../lib/address.ts';
import { type InventoryHost, isBeingInstalled } from '../ports/inventory.ts';
import type { KubeObject } from '../ports/kube.ts';
import { internalAddresses } from './node.ts';

/** Finds hosts of the inventory service by names and addresses from the cluster. */
export interface HostIndex {
  /**
   * By name, ignoring case; the last host of that name. Hosts that are being installed come before
   * all others.
   */
  readonly named: (name: string) => InventoryHost | undefined;
  /**
   * By an address in canonical form. An address that several hosts share, such as the address of a
   * bridge that each host creates, finds none.
   */
  readonly at: (address: string) => InventoryHost | undefined;
  /** All hosts with an address in canonical form. */
  readonly allAt: (address: string) => readonly InventoryHost[];
}

const indexes = new WeakMap<readonly InventoryHost[], HostIndex>();

/**
 * The index of hosts, built once for a list: nodes and requests change many times a second, hosts
 * do not.
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
 * The host that a node runs on: by the node's name, else by the last of the node's InternalIP
 * addresses that belongs to a host (assisted-installer, `getInventoryHost`, same rule). The
 * addresses are read only if no host has the name of the node.
 */
export const hostOf = (node: KubeObject, hosts: HostIndex): InventoryHost | undefined =>
  hosts.named(node.metadata.name) ??
  internalAddresses(node)
    .map((address) => hosts.at(address))
    .findLast((host) => host !== undefined);

/**
 * The node of one host: the node with the name of the host, else the last one. A host whose first
 * name was localhost has that node too.
 */
export const ownNode = (nodes: readonly KubeObject[], hosts: HostIndex): KubeObject | undefined =>
  nodes.find(({ metadata: { name } }) => hosts.named(name) !== undefined) ?? nodes.at(-1);
