/** Kind of the error of a request without an answer. */
export type NetworkErrorKind =
  /** The server's certificate is not trusted; a retry cannot help. */
  | 'untrusted'
  /** A retry may work soon. */
  | 'passing'
  /** The name does not resolve; the name service of a host that just started may learn it. */
  | 'unresolved'
  /** A retry will not work. */
  | 'lasting';

/** A network error, for people and for the retry rules. */
export interface NetworkError {
  readonly kind: NetworkErrorKind;
  readonly code: string;
  readonly words: string;
  /** For the context of a failure: the code, and the proxy if one was used. */
  readonly context: { readonly error: string; readonly proxy?: string };
}

const passingCodes: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT'],
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'EADDRNOTAVAIL', 'EAI_AGAIN'],
  ...['EMFILE', 'ENFILE', 'CONNECT_TIMEOUT', 'HEADERS_TIMEOUT', 'BODY_TIMEOUT'],
]);

/** Codes of the client, by the names that journals and logs have always had. */
const clientCodes: Readonly<Record<string, string>> = {
  UND_ERR_CONNECT_TIMEOUT: 'CONNECT_TIMEOUT',
  UND_ERR_HEADERS_TIMEOUT: 'HEADERS_TIMEOUT',
  UND_ERR_BODY_TIMEOUT: 'BODY_TIMEOUT',
  // The server closed the connection.
  UND_ERR_SOCKET: 'ECONNRESET',
  UND_ERR_PRX_CONN: 'ECONNRESET',
  UND_ERR_ABORTED: '',
};

const unknownAuthority = 'its certificate is signed by a CA that this host does not know';

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  // IPv6 addresses of a host cannot be used until they are known to be unique (RFC 4862, 5.4).
  EADDRNOTAVAIL: 'this host has no address of that kind',
  ENOTFOUND: 'the host name does not resolve',
  EAI_AGAIN: 'DNS does not answer',
  ETIMEDOUT: 'the connection timed out',
  CONNECT_TIMEOUT: 'the connection timed out',
  HEADERS_TIMEOUT: 'the server did not answer in time',
  BODY_TIMEOUT: 'the transfer stalled',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself',
  // The client's own code, for an answer that no request asked for (status 101).
  ERR_ASSERTION: 'the server sent an answer that HTTP does not allow here',
};

/** Codes of OpenSSL and Node about certificates. */
const certificateCode =
  /^(?:CERT_|UNABLE_TO_(?:GET|VERIFY|DECRYPT)|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|INVALID_CA|PATH_LENGTH|HOSTNAME_MISMATCH|ERR_TLS_CERT_|CRL_)/;

const refusedTunnel = /^Proxy response \((\d+)\).*$/;

/** Classifies the error of a request through a proxy, named without credentials, or without one. */
export function networkErrorOf(error: unknown, proxy?: string): NetworkError {
  const found = codeIn(error);
  const code = clientCodes[found] ?? found;
  const said =
    words[code] ?? messageOf(error).replace(refusedTunnel, 'a tunnel was refused with status $1');
  return {
    kind: kindOf(code, messageOf(error)),
    code,
    words: proxy === undefined ? said : `${said} (by the proxy ${proxy})`,
    context: { error: code, ...(proxy === undefined ? {} : { proxy }) },
  };
}

function kindOf(code: string, message: string): NetworkErrorKind {
  if (certificateCode.test(code)) return 'untrusted';
  if (passingCodes.has(code)) return 'passing';
  if (code === 'ENOTFOUND') return 'unresolved';
  // The proxy answered, but could not reach the server at that moment.
  if (/^(?:408|429|5\d\d)$/.test(refusedTunnel.exec(message)?.[1] ?? '')) return 'passing';
  return 'lasting';
}

/** The first code in an error, its causes and the errors that it aggregates. */
function codeIn(error: unknown, depth = 0): string {
  if (!(error instanceof Error) || depth > 5) return '';
  const inner = [
    error.cause,
    ...(error instanceof AggregateError ? (error.errors as unknown[]) : []),
  ]
    .map((one) => codeIn(one, depth + 1))
    .find((code) => code !== '');
  const own = (error as NodeJS.ErrnoException).code;
  return inner ?? own ?? '';
}

/** The message without Node's advice to its users, which names Node's own options. */
const messageOf = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error);
  const said = message.split(/;\s*/).filter((clause) => !/\bNode(?:\.js)?\b|--[a-z]/.test(clause));
  return said.join('; ');
};
