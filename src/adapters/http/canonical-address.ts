import { isIPv4, SocketAddress } from 'node:net';

/**
 * An address in the one form in which addresses are compared: without a prefix length, IPv6 in the
 * form of RFC 5952, and an IPv4 address that stands inside an IPv6 one as IPv4, as Go prints it.
 * Undefined for what is no address.
 */
export function canonicalAddress(address: string): string | undefined {
  const [bare = '', length] = address.split('/');
  if (length !== undefined && !/^\d{1,3}$/.test(length)) return undefined;
  if (isIPv4(bare)) return bare;
  const text = parsedV6(bare);
  const inside = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(text ?? '')?.[1];
  return inside ?? text;
}

/** A zone is no part of an address that another machine could use. */
function parsedV6(text: string): string | undefined {
  if (text.includes('%')) return undefined;
  try {
    return new SocketAddress({ family: 'ipv6', address: text }).address;
  } catch {
    return undefined;
  }
}
