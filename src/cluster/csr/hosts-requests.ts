import { canonicalAddress, isWithin } from '../../lib/address.ts';
import { type InventoryHost, isBeingInstalled } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { HostIndex } from '../host-index.ts';
import type { MachineNetworks } from '../install-config.ts';
import { addressesOf, internalAddresses } from '../node.ts';
import type { KubeletClaim, RefusalCause } from './read-request.ts';

/** What is known of the cluster at one moment. */
export interface KnownCluster {
  /**
   * Undefined where nobody knows the hosts: the service left before it was asked, and nobody
   * recorded them.
   */
  readonly hosts: Pick<HostIndex, 'named' | 'allAt'> | undefined;
  readonly nodes: readonly KubeObject[];
  /** Whether a node of this name may be one that is still to come, where nobody knows the hosts. */
  readonly isAwaited?: (node: string) => boolean;
  /** Where addresses may be that came after the inventory of their host. */
  readonly machines?: MachineNetworks | undefined;
}

// Ten thousand claims are looked at each time that something changes: what is left costs no more
// than its cause.

/**
 * Why a claim is not granted now; undefined where it is. The question is whose host it is.
 * @param node the node of that name, where it is there
 */
export const refusalNow = (
  claim: KubeletClaim,
  node: KubeObject | undefined,
  cluster: KnownCluster,
): RefusalCause | undefined =>
  claim.purpose === 'client'
    ? clientRefusal(claim.node, node, cluster)
    : servingRefusal(claim, node, cluster);

/**
 * A first certificate: for a host of the cluster without a node, each time that it is installed.
 */
function clientRefusal(
  name: string,
  node: KubeObject | undefined,
  { hosts, isAwaited }: KnownCluster,
): RefusalCause | undefined {
  if (node !== undefined) return 'joined';
  if (hosts === undefined) return isAwaited?.(name) === true ? undefined : 'no-inventory';
  const host = hosts.named(name);
  if (host === undefined) return 'unknown-host';
  const hasJoined = host.stage === 'Joined' || host.stage === 'Done' || host.status === 'installed';
  if (hasJoined) return 'joined';
  // A failed host may still come up. One of which nothing but the name is known has to be on its
  // way.
  return host.status === 'error' && host.addresses.length > 0 ? undefined : stageRefusal(host);
}

const stageRefusal = (host: InventoryHost): RefusalCause | undefined =>
  isBeingInstalled(host) ? undefined : 'not-installing';

/**
 * A serving certificate: for a node that is there and has the name of its host, with addresses that
 * the node has and no other host. A node says itself which addresses it has: one that the inventory
 * does not have has to be free.
 */
function servingRefusal(
  { node: name, addresses }: KubeletClaim,
  node: KubeObject | undefined,
  { hosts, nodes, machines }: KnownCluster,
): RefusalCause | undefined {
  if (node === undefined) return 'not-joined';
  const reported = internalAddresses(node);
  if (!addresses.every((address) => reported.includes(address))) return 'names';
  if (hosts === undefined) return undefined;
  const host = hosts.named(name);
  if (host === undefined) return 'unknown-host';
  if (addresses.some((address) => hosts.allAt(address).some(({ id }) => id !== host.id)))
    return 'names';
  const listed = host.addresses.map(canonicalAddress);
  const later = addresses.filter((address) => !listed.includes(address));
  if (later.length === 0) return undefined;
  const { networks = [], vips = [] } = machines ?? {};
  const others = nodes.filter(({ metadata }) => metadata.name !== name);
  const isTaken = (address: string): boolean =>
    vips.some((vip) => canonicalAddress(vip) === address) ||
    others.some((other) => addressesOf(other).includes(address));
  if (later.some(isTaken)) return 'names';
  if (listed.length === 0) return stageRefusal(host);
  return later.every((address) => isWithin(address, networks)) ? undefined : 'names';
}
