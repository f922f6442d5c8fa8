import type { Config } from '../../config/schema.ts';

/** The machine itself is never reached through a proxy: the image relay listens there. */
const itself = '127.0.0.1,localhost';

/**
 * The proxies of the configuration as variables for a command, in both cases: programs differ in
 * which they read.
 */
export function proxyEnv({ http, https, no }: Config['proxy']): Readonly<Record<string, string>> {
  if (http === '' && https === '') return {};
  const values = {
    http_proxy: http,
    https_proxy: https,
    no_proxy: no === '' ? itself : `${no},${itself}`,
  };
  return Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== '')
      .flatMap(([name, value]) => [
        [name, value],
        [name.toUpperCase(), value],
      ]),
  );
}
