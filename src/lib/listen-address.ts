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
