// A proxy on its way: from a setting, by these forms, to a request (`proxyFor`) and to the commands
// of a host (`proxyEnv`).
import type { SecretUrl } from './secret-url.ts';

/** Proxies by the kind of address that is reached through them. Empty text means none. */
export interface Proxies {
  /** For http:// addresses. */
  readonly http: string;
  /** For https:// addresses. */
  readonly https: string;
  /** Addresses that need no proxy, comma separated. */
  readonly no: string;
}

/** Proxies of a configuration, which shows no password. */
export type ProxySettings = Readonly<Record<'http' | 'https', SecretUrl>> & Pick<Proxies, 'no'>;

/** The proxies of a configuration with their passwords. */
export const revealedProxies = ({ http, https, no }: ProxySettings): Proxies => ({
  http: http.reveal(),
  https: https.reveal(),
  no,
});

/** The machine itself is never reached through a proxy: the image relay listens there. */
const itself = '127.0.0.1,localhost';

/**
 * Proxies as variables for the commands of the host, in both cases: programs
 * differ in which they read. `*` stays alone, as curl knows no other form of it.
 */
export function proxyEnv({ http, https, no }: Proxies): Readonly<Record<string, string>> {
  if (http === '' && https === '') return {};
  const isForNone = no.split(',').some((entry) => entry.trim() === '*');
  const exceptions = no === '' ? itself : `${no},${itself}`;
  const values = { http_proxy: http, https_proxy: https, no_proxy: isForNone ? '*' : exceptions };
  return Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== '')
      .flatMap(([name, value]) => [
        [name, value],
        [name.toUpperCase(), value],
      ]),
  );
}
