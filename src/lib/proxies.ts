// Forms of a proxy, from a setting to a request (`proxyFor`) and to the commands of a host
// (`proxyEnv`).
import type { SecretUrl } from './secret-url.ts';

/** Proxies by the kind of URL. Empty text means no proxy. */
export interface Proxies {
  /** For http:// URLs. */
  readonly http: string;
  /** For https:// URLs. */
  readonly https: string;
  /** Addresses without a proxy, between commas or blanks. */
  readonly no: string;
}

/** Proxies of a configuration, with hidden passwords. */
export type ProxySettings = Readonly<Record<'http' | 'https', SecretUrl>> & Pick<Proxies, 'no'>;

/** The proxies of a configuration with their passwords. */
export const revealedProxies = ({ http, https, no }: ProxySettings): Proxies => ({
  http: http.reveal(),
  https: https.reveal(),
  no,
});

/**
 * The addresses without a proxy, in the form of Go's programs: they do not split at a blank, and
 * know no brackets without a port and no final dot (golang.org/x/net/http/httpproxy).
 */
export const exceptionsIn = (no: string): readonly string[] =>
  no
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .map((entry) => entry.replace(/^\[([^\]]*)\](?=\/|$)/, '$1').replace(/(?<=\w)\.$/, ''));

/** The machine itself is never reached through a proxy: the image relay listens there. */
const itself = ['127.0.0.1', 'localhost'];

/**
 * Environment variables of the proxies for commands on the host, in both cases: programs differ in
 * which case they read. `*` stays alone, as curl knows no other form of it.
 */
export function proxyEnv({ http, https, no }: Proxies): Readonly<Record<string, string>> {
  if (http === '' && https === '') return {};
  const entries = exceptionsIn(no);
  const exceptions = entries.includes('*') ? '*' : [...entries, ...itself].join(',');
  const values = { http_proxy: http, https_proxy: https, no_proxy: exceptions };
  return Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== '')
      .flatMap(([name, value]) => [
        [name, value],
        [name.toUpperCase(), value],
      ]),
  );
}
