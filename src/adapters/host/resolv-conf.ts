import { isIP } from 'node:net';

/** What resolv.conf(5) says that matters here. */
export interface ResolverSettings {
  readonly nameservers: readonly string[];
  readonly search: readonly string[];
}

/** glibc asks no more than three. */
const mostNameservers = 3;

/** Reads a resolv.conf; the last `search` or `domain` counts, as in glibc. */
export function readResolvConf(text: string): ResolverSettings {
  const nameservers: string[] = [];
  let search: readonly string[] = [];
  for (const line of text.split('\n')) {
    const [word = '', ...values] = line.trim().split(/\s+/);
    const [first = ''] = values;
    if (word === 'nameserver' && isIP(first) !== 0) nameservers.push(first);
    if (word === 'search') search = values;
    if (word === 'domain' && first !== '') search = [first];
  }
  return { nameservers: nameservers.slice(0, mostNameservers), search };
}

/** The names to ask for, in their order: a name with a dot is whole, any other gets a domain. */
export function namesToAsk(name: string, search: readonly string[]): readonly string[] {
  if (name.includes('.')) return [name.replace(/\.$/, '')];
  return [...search.map((domain) => `${name}.${domain.replace(/\.$/, '')}`), name];
}

/** The addresses that a hosts(5) file gives a name, in the order of its lines. */
export function addressesInHosts(text: string, name: string): readonly string[] {
  const wanted = name.replace(/\.$/, '').toLowerCase();
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const isNamed = names.some((one) => one.toLowerCase() === wanted);
    return isNamed && isIP(address) !== 0 ? [address] : [];
  });
}
