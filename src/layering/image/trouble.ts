/** What the words of a program say of its failure. */
export type Trouble = 'network' | 'denied' | 'absent' | 'other';

/** Words of the network, of TLS that was cut off, and of servers that are not well; of Go, curl, dnf and librepo. */
const network = [
  /connection (?:refused|reset|timed out)/i,
  /(?:dial tcp|read tcp|write tcp).*(?:timeout|refused|reset|unreachable|broken pipe)/i,
  /no (?:such host|route to host)/i,
  /network is unreachable/i,
  /(?:i\/o|TLS handshake|Client\.Timeout|context deadline) (?:timeout|exceeded)/i,
  /temporary failure in name resolution|could not resolve host|curl error \(?(?:6|7|18|28|35|52|56|92)\)?/i,
  /unexpected EOF|: EOF\b/i,
  /server closed idle connection|use of closed network connection|broken pipe/i,
  /\b(?:429 Too Many Requests|toomanyrequests|50[0234] [A-Z]|(?:status|code|HTTP)[ :]+50[0234])\b/i,
  /received unexpected HTTP status: 5\d\d/i,
];

const denied = [
  /unauthorized|authentication required|invalid username\/password|denied: |access (?:to the resource is )?denied/i,
  /\b40[13] (?:Unauthorized|Forbidden)\b/i,
];

const absent = [/manifest unknown|name unknown|not found: manifest|\b404 Not Found\b/i];

const saysOneOf = (patterns: readonly RegExp[], text: string): boolean =>
  patterns.some((pattern) => pattern.test(text));

/** Reads a failure of skopeo, buildah or podman from its standard error. */
export function troubleIn(stderr: string): Trouble {
  if (saysOneOf(denied, stderr)) return 'denied';
  if (saysOneOf(absent, stderr)) return 'absent';
  return saysOneOf(network, stderr) ? 'network' : 'other';
}
