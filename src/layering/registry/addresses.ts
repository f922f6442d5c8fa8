import * as z from 'zod';

/** Prints the addresses of the host that others can reach. */
export const addressesArgv = ['ip', '-json', 'address', 'show', 'scope', 'global', 'up'] as const;

/** Prints the routes to everywhere, one call for each family. */
export const routesArgv = (family: '-4' | '-6'): readonly string[] => [
  ...['ip', family, '-json', 'route', 'show', 'default'],
];

const Interfaces = z.array(
  z.object({
    ifname: z.string().optional(),
    addr_info: z
      .array(
        z.object({
          local: z.string().optional(),
          family: z.string().optional(),
          prefixlen: z.number().optional(),
          temporary: z.boolean().optional(),
          deprecated: z.boolean().optional(),
        }),
      )
      .default([]),
  }),
);

const Routes = z.array(z.object({ dev: z.string().optional() }));

/**
 * The addresses by which other hosts reach this one, the best first: those of the devices with a route to
 * everywhere, IPv4 before IPv6. Addresses of one host alone (/32, /128) are virtual ones that move to another host
 * later, unless nothing else is there.
 */
export function reachableAddresses(
  interfaces: string,
  routes: readonly string[],
): readonly string[] {
  const devices = new Set(
    routes.flatMap((text) => read(Routes, text)?.map(({ dev }) => dev ?? '') ?? []),
  );
  const found = (read(Interfaces, interfaces) ?? [])
    .filter(({ ifname }) => devices.size === 0 || devices.has(ifname ?? ''))
    .flatMap(({ addr_info: addresses }) => addresses)
    .flatMap(({ local, prefixlen = 0, family, temporary = false, deprecated = false }) =>
      local === undefined || deprecated
        ? []
        : [
            {
              local,
              isIpv6: family === 'inet6',
              isFleeting: temporary || isVirtual(prefixlen, family),
            },
          ],
    );
  const rank = (one: (typeof found)[number]): number =>
    (one.isFleeting ? 2 : 0) + (one.isIpv6 ? 1 : 0);
  return [...found].sort((one, other) => rank(one) - rank(other)).map(({ local }) => local);
}

const isVirtual = (prefixLength: number, family: string | undefined): boolean =>
  family === 'inet6' ? false : prefixLength === 32;

/** An address with a port, as a URL has it. */
export const withPort = (address: string, port: number): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;

/** The address alone, of an address with a port. */
export const hostOf = (address: string): string =>
  address.replace(/:\d+$/, '').replaceAll(/[[\]]/g, '');

function read<T>(schema: z.ZodType<T>, text: string): T | undefined {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
