import { internalAddresses } from '../../cluster/node.ts';
import { asAgentError } from '../../engine/failures.ts';
import { canonicalAddress } from '../../lib/address.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { Stage } from '../../model/stage.ts';
import { type InventoryHost, isBeingInstalled } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';
import type { Tasks } from './tasks.ts';

/** The shortest time between two requests for the hosts. */
const askHostsEvery: Millis = seconds(30);

/** The other hosts of the cluster, as the inventory service listed them last. */
export interface KnownHosts {
  /** Undefined until it has listed them once. */
  readonly hosts: () => readonly InventoryHost[] | undefined;
  readonly index: () => HostIndex | undefined;
  /** How often it has listed them. */
  readonly answers: () => number;
  /** The error code of the last request; undefined when it succeeded. */
  readonly lastError: () => string | undefined;
  /** Requests them in the background, unless that was done a short time ago. */
  readonly ask: () => void;
}

/** Keeps the hosts that the inventory service lists, without this one. */
export function knownHostsOf(scope: StepScope<'inventory'>, tasks: Tasks): KnownHosts {
  const { config, inventory } = scope;
  let hosts: readonly InventoryHost[] | undefined;
  let index: HostIndex | undefined;
  let lastError: string | undefined;
  let answers = 0;
  const read = async (signal: AbortSignal): Promise<void> => {
    try {
      const enabled = await inventory.enabledHosts(signal);
      hosts = enabled.filter(({ id }) => id !== config.cluster.hostId);
      index = hostIndexOf(hosts);
      answers += 1;
      lastError = undefined;
    } catch (error) {
      signal.throwIfAborted();
      lastError = asAgentError(error).code;
    }
  };
  return {
    hosts: () => hosts,
    index: () => index,
    answers: () => answers,
    lastError: () => lastError,
    ask: () => tasks.run('ask for hosts', askHostsEvery, read),
  };
}

/** A report that failed is sent again after this time. */
const reportAgainAfter: Millis = seconds(5);

/** How a report ended: `refused` is an answer too (409). */
export type ReportEnd = 'accepted' | 'refused' | { readonly failed: string };

/** Reports stages of other hosts in the background, so that none delays another. */
interface HostReports {
  /** How the report of a host ended; undefined before its first report has ended. */
  readonly endOf: (host: InventoryHost) => ReportEnd | undefined;
  /** Reports the stage of a host, unless that was tried a short time ago. */
  readonly send: (host: InventoryHost, stage: Stage) => void;
}

/** Makes the reports of one wait. */
export function hostReportsOf(
  { inventory, note }: StepScope<'inventory'>,
  tasks: Tasks,
): HostReports {
  const ends = new Map<string, ReportEnd>();
  return {
    endOf: ({ id }) => ends.get(id),
    send: (host, stage) => {
      tasks.run(`report ${host.id}`, reportAgainAfter, async (signal) => {
        const { infraEnvId, id: hostId } = host;
        const name = host.name === '' ? hostId : host.name;
        try {
          await inventory.report({ infraEnvId, hostId }, { stage, info: '' }, signal);
          ends.set(host.id, 'accepted');
          note('info', `${name} is ${stage}`, { host: hostId, stage });
        } catch (error) {
          signal.throwIfAborted();
          const { code, message } = asAgentError(error);
          const end = code === 'inventory.refused' ? 'refused' : { failed: code };
          if (!isSame(ends.get(host.id), end)) {
            note('warn', `could not report stage ${stage} of ${name}`, { code, reason: message });
          }
          ends.set(host.id, end);
        }
      });
    },
  };
}

const isSame = (one: ReportEnd | undefined, other: ReportEnd): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** Finds hosts of the inventory service by what a cluster knows of them. */
export interface HostIndex {
  /** By name, ignoring case; the last of that name, of those that are being installed where some are. */
  readonly named: (name: string) => InventoryHost | undefined;
  /**
   * By an address in canonical form. An address that several hosts have, such as that of a bridge
   * that each creates, finds none.
   */
  readonly at: (address: string) => InventoryHost | undefined;
}

const indexes = new WeakMap<readonly InventoryHost[], HostIndex>();

/** The index of hosts, made once for a list: nodes and requests change many times a second, hosts do not. */
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
export const hostOfNode = (
  { name, addresses }: { readonly name: string; readonly addresses: readonly string[] },
  hosts: HostIndex,
): InventoryHost | undefined => hosts.named(name) ?? hostAtLast(addresses, hosts);

const hostAtLast = (addresses: readonly string[], hosts: HostIndex): InventoryHost | undefined =>
  addresses.map((address) => hosts.at(address)).findLast((host) => host !== undefined);

/** The same of a node that is there; its addresses are read only where its name is that of no host. */
export const hostOf = (node: KubeObject, hosts: HostIndex): InventoryHost | undefined =>
  hosts.named(node.metadata.name) ?? hostAtLast(internalAddresses(node), hosts);

/** The node of each host that has one, by the id of the host. */
export function nodesByHost(
  nodes: readonly KubeObject[],
  hosts: HostIndex,
): ReadonlyMap<string, KubeObject> {
  const found = new Map<string, KubeObject>();
  for (const node of nodes) {
    const host = hostOf(node, hosts);
    if (host !== undefined) found.set(host.id, node);
  }
  return found;
}
