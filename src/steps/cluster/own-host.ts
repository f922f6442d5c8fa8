import * as z from 'zod';
import { canonicalAddress } from '../../lib/address.ts';
import { jsonIn } from '../../lib/json.ts';
import { engineFailure, noteFailed } from '../../engine/failures.ts';
import { limited } from '../../engine/limit.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import { unreadableOutput } from '../host-commands.ts';
import { type StepScope } from '../step.ts';

/** The node that this host will be. */
export interface OwnNode {
  /** In lower case, as the kubelet writes it. */
  readonly name: string;
  /** In their one spelling, each once. */
  readonly addresses: readonly string[];
  /** The other hosts of the cluster; none where the service does not say. */
  readonly others: readonly InventoryHost[];
}

/** Name of the host, of its own kernel and not of our container's. */
const hostnameFile = '/proc/sys/kernel/hostname';

/** How long the service may take: the reboot waits meanwhile, and the host itself knows enough. */
const serviceLimit: Millis = seconds(30);

/** Lists the addresses that others can reach this host at. */
export const listAddressesArgv = ['ip', '-json', 'address', 'show', 'scope', 'global'] as const;

/**
 * Name and addresses of this host: what the inventory service has of it, which the node will be
 * called by too; what it does not have, the host itself says.
 */
export async function findOwnNode(
  scope: StepScope<'host' | 'inventory' | 'clock'>,
): Promise<OwnNode | undefined> {
  const hosts = await listedHosts(scope);
  const isOwn = ({ id }: InventoryHost): boolean => id === scope.config.cluster.hostId;
  const known = hosts.find(isOwn);
  const name = (known?.name ?? '') === '' ? await hostname(scope) : (known?.name ?? '');
  const listed = known?.addresses ?? [];
  const addresses = listed.length > 0 ? listed : await hostAddresses(scope);
  const canonical = addresses.map((address) => canonicalAddress(address));
  const each = new Set(canonical.filter((address) => address !== undefined));
  if (name === '') return undefined;
  const others = hosts.filter((host) => !isOwn(host));
  return { name: name.toLowerCase(), addresses: [...each], others };
}

async function listedHosts({
  inventory,
  clock,
  config: { service, cluster },
  signal,
  note,
}: StepScope<'inventory' | 'clock'>): Promise<readonly InventoryHost[]> {
  if (service.url.isEmpty || cluster.hostId === '') return [];
  const late = (): Error =>
    engineFailure('step.timed-out', 'the inventory service did not answer in time');
  try {
    return await limited(clock, { limit: serviceLimit, signal, late }, (inner) =>
      inventory.enabledHosts(inner),
    );
  } catch (error) {
    noteFailed({ signal, note }, 'the inventory service does not answer for this host', error);
    return [];
  }
}

const hostname = async ({ host, signal }: StepScope<'host'>): Promise<string> =>
  (await host.readText(hostnameFile, signal))?.trim() ?? '';

async function hostAddresses({
  host,
  signal,
  note,
}: StepScope<'host'>): Promise<readonly string[]> {
  try {
    const { stdout } = await host.exec(listAddressesArgv, { signal, limit: seconds(20) });
    if (jsonIn(stdout) === undefined) throw unreadableOutput('ip', 'list of addresses', stdout);
    return parseAddresses(stdout);
  } catch (error) {
    noteFailed({ signal, note }, 'the addresses of this host cannot be listed', error);
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
