import { canonicalAddress, isWithin } from '../../lib/address.ts';
import { type InventoryHost, isBeingInstalled } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { HostIndex } from '../host-index.ts';
import type { MachineNetworks } from '../install-config.ts';
import { addressesOf, internalAddresses } from '../node.ts';
import type { KubeletClaim, PendingCause } from './read-request.ts';

/** The state of the cluster at one moment, as far as it is known. */
export interface KnownCluster {
  /**
   * Undefined where the hosts are unknown: the service left before the first request to it, and no
   * record of them exists.
   */
  readonly hosts: Pick<HostIndex, 'named' | 'allAt'> | undefined;
  readonly nodes: readonly KubeObject[];
  /** Whether a node of this name may still join, where the hosts are unknown. */
  readonly isAwaited?: (node: string) => boolean;
  /** Networks for the addresses that a host got after its inventory was taken. */
  readonly machines?: MachineNetworks | undefined;
}

// Ten thousand claims are checked at each change: an answer costs no more than its cause.

/**
 * Why the request of a claim stays Pending; undefined where it may be approved. The host that the
 * claim belongs to decides.
 * @param node the node of that name, if it exists
 */
export const pendingCause = (
  claim: KubeletClaim,
  node: KubeObject | undefined,
  cluster: KnownCluster,
): PendingCause | undefined =>
  claim.purpose === 'client'
    ? clientCause(claim.node, node, cluster)
    : servingCause(claim, node, cluster);

/**
 * A client certificate: granted to a host of the cluster without a node, at each of its
 * installations.
 */
function clientCause(
  name: string,
  node: KubeObject | undefined,
  { hosts, isAwaited }: KnownCluster,
): PendingCause | undefined {
  if (node !== undefined) return 'joined';
  if (hosts === undefined) return isAwaited?.(name) === true ? undefined : 'no-inventory';
  const host = hosts.named(name);
  if (host === undefined) return 'unknown-host';
  const hasJoined = host.stage === 'Joined' || host.stage === 'Done' || host.status === 'installed';
  if (hasJoined) return 'joined';
  // A failed host may still come up. A host with nothing but a name has to be on its way.
  return host.status === 'error' && host.addresses.length > 0 ? undefined : stageCause(host);
}

const stageCause = (host: InventoryHost): PendingCause | undefined =>
  isBeingInstalled(host) ? undefined : 'not-installing';

/**
 * A serving certificate: granted to an existing node with the name of its host, for addresses that
 * the node has and no other host has. A node reports its own addresses: an address that is not in
 * the inventory must belong to no other host.
 */
function servingCause(
  { node: name, addresses }: KubeletClaim,
  node: KubeObject | undefined,
  { hosts, nodes, machines }: KnownCluster,
): PendingCause | undefined {
  if (node === undefined) return 'not-joined';
  const reported = internalAddresses(node);
  if (!addresses.every((address) => reported.includes(address))) return 'names';
  const { networks = [], vips = [] } = machines ?? {};
  const isTaken = (address: string): boolean =>
    vips.some((vip) => canonicalAddress(vip) === address) ||
    nodes.some((one) => one.metadata.name !== name && addressesOf(one).includes(address));
  if (hosts === undefined) return addresses.some(isTaken) ? 'names' : undefined;
  const host = hosts.named(name);
  if (host === undefined) return 'unknown-host';
  if (addresses.some((address) => hosts.allAt(address).some(({ id }) => id !== host.id)))
    return 'names';
  const listed = host.addresses.map(canonicalAddress);
  const later = addresses.filter((address) => !listed.includes(address));
  if (later.length === 0) return undefined;
  if (later.some(isTaken)) return 'names';
  if (listed.length === 0) return stageCause(host);
  return later.every((address) => isWithin(address, networks)) ? undefined : 'names';
}
