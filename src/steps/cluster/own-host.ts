import * as z from 'zod';
import { canonicalAddress } from '../../lib/address.ts';
import { jsonIn } from '../../lib/json.ts';
import { noteFailed } from '../../engine/failures.ts';
import { seconds } from '../../model/duration.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import { readHostname, unreadableOutput } from '../host-commands.ts';
import type { StepScope } from '../step.ts';
import { askBriefly } from './inventory-hosts.ts';

/** Lists the addresses that others can reach this host at. */
export const listAddressesArgv = ['ip', '-json', 'address', 'show', 'scope', 'global'] as const;

/**
 * The node that this host will be: what the inventory service has of it, which the node will be
 * called by too; what it does not have, the host itself says.
 * @returns its name in lower case, as the kubelet writes it, its addresses in their one spelling,
 * each once, and the other hosts of the cluster, where the service says them
 */
export async function findOwnNode(scope: StepScope<'host' | 'inventory' | 'clock'>) {
  const hosts = await listedHosts(scope);
  const isOwn = ({ id }: InventoryHost): boolean => id === scope.config.cluster.hostId;
  const known = hosts.find(isOwn);
  const name = (known?.name ?? '') === '' ? await readHostname(scope) : (known?.name ?? '');
  const listed = known?.addresses ?? [];
  const addresses = listed.length > 0 ? listed : await hostAddresses(scope);
  const canonical = addresses.map((address) => canonicalAddress(address));
  const each = new Set(canonical.filter((address) => address !== undefined));
  if (name === '') return undefined;
  const others = hosts.filter((host) => !isOwn(host));
  return { name: name.toLowerCase(), addresses: [...each], others };
}

async function listedHosts(
  scope: StepScope<'inventory' | 'clock'>,
): Promise<readonly InventoryHost[]> {
  const { service, cluster } = scope.config;
  if (service.url.isEmpty || cluster.hostId === '') return [];
  try {
    return await askBriefly(scope, scope.inventory.enabledHosts);
  } catch (error) {
    noteFailed(scope, 'the inventory service does not answer for this host', error);
    return [];
  }
}

async function hostAddresses(scope: StepScope<'host'>): Promise<readonly string[]> {
  const { host, signal } = scope;
  try {
    const { stdout } = await host.exec(listAddressesArgv, { signal, limit: seconds(20) });
    if (jsonIn(stdout) === undefined) throw unreadableOutput('ip', 'list of addresses', stdout);
    return parseAddresses(stdout);
  } catch (error) {
    noteFailed(scope, 'the addresses of this host cannot be listed', error);
    return [];
  }
}

const Links = z.array(
  z.object({
    addr_info: z
      .array(
        z.object({
          family: z.string(),
          local: z.string(),
          prefixlen: z.number(),
          dynamic: z.boolean().optional(),
        }),
      )
      .default([]),
  }),
);

const wholeLength: Readonly<Record<string, number>> = { inet: 32, inet6: 128 };

/**
 * Reads `ip -json address`. The bootstrap host holds the address of the cluster's API for a while:
 * keepalived sets it without a network around it and without a lease, and it is never the node's.
 */
export function parseAddresses(output: string): readonly string[] {
  const links = Links.safeParse(jsonIn(output)).data ?? [];
  return links
    .flatMap(({ addr_info: addresses }) => addresses)
    .filter(
      ({ family, prefixlen, dynamic }) => prefixlen !== wholeLength[family] || dynamic === true,
    )
    .map(({ local }) => local);
}
