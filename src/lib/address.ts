/** Numbers from 0 to 255 without leading zeros. */
const octet = /^(?:0|[1-9]\d{0,2})$/;

/**
 * An IP address in its canonical form, so that addresses can be compared as text: IPv6 in lower
 * case and shortest form, IPv4 inside IPv6 as IPv4. Drops a zone (`%ens3`), which only has a
 * meaning on its own machine. Undefined if the text is not an address.
 */
export function canonicalAddress(text: string): string | undefined {
  const address = text.split('%', 1)[0] ?? '';
  return address.includes(':') ? canonicalV6(address) : canonicalV4(address);
}

function canonicalV4(address: string): string | undefined {
  const octets = address.split('.');
  const isAddress = octets.every((part) => octet.test(part) && Number(part) < 256);
  return octets.length === 4 && isAddress ? address : undefined;
}

function canonicalV6(address: string): string | undefined {
  if (!/^[0-9a-f:.]+$/i.test(address)) return undefined;
  // The URL parser knows every spelling of IPv6 and writes the form of RFC 5952.
  const host = URL.parse(`http://[${address}]/`)?.hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(host ?? '');
  if (mapped === null) return host;
  return [mapped[1] ?? '', mapped[2] ?? '']
    .map((group) => Number.parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 255])
    .join('.');
}

/**
 * The IPv4 address that a URL leads to where its text has it in another form: with a leading zero,
 * which makes a number octal, with fewer numbers, or as one (WHATWG URL, "IPv4 parser"). The text
 * means another machine then, or is mistyped. Otherwise undefined.
 */
export function addressReadFrom(url: string): string | undefined {
  const host = URL.parse(url)?.hostname ?? '';
  return canonicalV4(host) === undefined || url.includes(host) ? undefined : host;
}

/** The form to write instead of such an address, for messages. */
export const addressRule = 'the four decimal numbers of the address, without leading zeros';

/** A name or an address in the form of a URL: IPv6 in brackets (RFC 3986, 3.2.2). */
export const hostInUrl = (host: string): string =>
  host.includes(':') && canonicalAddress(host) !== undefined ? `[${host}]` : host;

/**
 * Whether an address is in one of these networks, such as `192.0.2.0/24`. An unreadable network, or
 * one with all addresses, contains none.
 */
export const isWithin = (address: string, networks: readonly string[]): boolean =>
  networks.some((network) => !network.endsWith('/0') && isInBlock(address, network));

/** Whether an address is in a CIDR block; both in any spelling. */
export function isInBlock(address: string, block: string): boolean {
  const [, host = '', length = ''] = /^(.+)\/(\d{1,3})$/.exec(block) ?? [];
  const bare = host.replace(/^\[([^\]]*)\]$/, '$1');
  const [own, network] = [bitsOf(address), bitsOf(bare)];
  if (own === undefined || own.length !== network?.length) return false;
  // The block is IPv4, written as IPv6.
  const count = Number(length) - (network.length === 32 && bare.includes(':') ? 96 : 0);
  return count >= 0 && count <= network.length && own.startsWith(network.slice(0, count));
}

/** The bits of an address as text; undefined if the text is not an address. */
function bitsOf(text: string): string | undefined {
  const address = canonicalAddress(text);
  const written = (numbers: readonly number[], size: 8 | 16): string =>
    numbers.map((number) => number.toString(2).padStart(size, '0')).join('');
  if (address?.includes(':') !== true) return address && written(address.split('.').map(Number), 8);
  const [left = [], right = []] = address
    .split('::')
    .map((half) => half.split(':').filter(Boolean));
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0');
  const groups = [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16));
  return written(groups, 16);
}

/** `HOST:PORT`, `[IPV6]:PORT` or `:PORT`, with a port of 0 to 65535. */
export const listenPattern =
  /^(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]*)):(0|[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])$/;

/** The listen address of a server. */
export interface ListenAddress {
  /** Default: all addresses of the machine. */
  readonly host?: string;
  /** 0 for any free port. */
  readonly port: number;
}

/** Parses a listen address; undefined if it is invalid. */
export function listenAddressOf(text: string): ListenAddress | undefined {
  const [, ipv6, name, port] = listenPattern.exec(text) ?? [];
  if (port === undefined) return undefined;
  const host = ipv6 ?? name ?? '';
  return { port: Number(port), ...(host === '' ? {} : { host }) };
}
