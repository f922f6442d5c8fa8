import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { hostInUrl } from '../../lib/address.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Host } from '../../ports/host.ts';

/** How the host's own name service is asked. */
export interface HostLookupOptions {
  readonly host: Pick<Host, 'readText'>;
  readonly clock: Clock;
  /** Of the nameservers; 53 unless given. */
  readonly port?: number;
  /** How long one nameserver may take. */
  readonly timeouts?: Millis;
  /** Asked when the host's nameservers know nothing. */
  readonly fallback?: typeof systemLookup;
}

/** A resolv.conf that was read is believed for so long. */
const freshness = seconds(5);

/** With addresses of one family in hand, those of the other are waited for so long. */
const otherFamily: Millis = 300;

/**
 * A lookup that asks as the host asks now: its hosts file, then the nameservers of its resolv.conf,
 * and at last the container's own resolver. The container holds the resolv.conf of the moment at
 * which it was started, while a bootstrap host gets its own name service in the middle of the run.
 * IPv4 addresses come first.
 */
export function hostLookup(options: HostLookupOptions): LookupFunction {
  const files = hostFiles(options);
  const find = async (asked: string, family: 0 | 4 | 6): Promise<readonly LookupAddress[]> => {
    const [hosts, resolvConf] = await files();
    const written = pick(addressesInHosts(hosts, asked), family);
    if (written.length > 0) return written;
    const { nameservers, search } = readResolvConf(resolvConf);
    const resolver = resolverFor(nameservers, options);
    if (resolver === undefined) return [];
    for (const name of namesToAsk(asked, search)) {
      const found = pick(await ask(resolver, options.clock, { name, family }), family);
      if (found.length > 0) return found;
    }
    return [];
  };
  const fallback = options.fallback ?? systemLookup;
  return (name, given, answer) => {
    const wanted: LookupOptions = given;
    const giveUp = (): void => {
      fallback(name, wanted, answer as never);
    };
    if (isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost')) {
      giveUp();
      return;
    }
    find(name, familyOf(wanted)).then((found) => {
      const [first] = found;
      if (first === undefined) giveUp();
      else if (wanted.all === true) answer(null, [...found]);
      else answer(null, first.address, first.family);
    }, giveUp);
  };
}

function familyOf({ family = 0 }: LookupOptions): 0 | 4 | 6 {
  if (family === 4 || family === 'IPv4') return 4;
  return family === 6 || family === 'IPv6' ? 6 : 0;
}

type HostFiles = readonly [hosts: string, resolvConf: string];

/** The host's two files, read again when they are no longer fresh. */
function hostFiles({ host, clock }: HostLookupOptions): () => Promise<HostFiles> {
  // A lookup has no signal; each of these reads is short.
  const { signal } = new AbortController();
  const read = async (path: string): Promise<string> =>
    (await host.readText(path, signal).catch(() => undefined)) ?? '';
  let known: { readonly at: number; readonly files: Promise<HostFiles> } | undefined;
  return () => {
    if (known === undefined || clock.elapsed() - known.at >= freshness) {
      const files = Promise.all([read('/etc/hosts'), read('/etc/resolv.conf')]);
      known = { at: clock.elapsed(), files };
    }
    return known.files;
  };
}

function resolverFor(
  nameservers: readonly string[],
  { port = 53, timeouts = seconds(2) }: HostLookupOptions,
): Resolver | undefined {
  const resolver = new Resolver({ timeout: timeouts, tries: 2 });
  const servers = nameservers.map((address) => `${hostInUrl(address)}:${port}`);
  try {
    resolver.setServers(servers);
  } catch {
    // An address that name service of the host takes, a scoped one perhaps, and this one does not.
    return undefined;
  }
  return servers.length === 0 ? undefined : resolver;
}

/**
 * The addresses of a name, IPv4 first. Some name servers never answer for a family that they do not
 * have; to wait for that would take longer than a connection may (RFC 8305, section 3).
 */
async function ask(
  resolver: Resolver,
  clock: Clock,
  { name, family }: { readonly name: string; readonly family: 0 | 4 | 6 },
): Promise<readonly string[]> {
  const questions = [
    ...(family === 6 ? [] : [() => resolver.resolve4(name)]),
    ...(family === 4 ? [] : [() => resolver.resolve6(name)]),
  ];
  const found = questions.map((): readonly string[] => []);
  const answers = questions.map(async (question, index) => {
    found[index] = await question().catch(() => []);
  });
  const whole = Promise.all(answers);
  const over = new AbortController();
  const enough = answers.map(async (answer, index) => {
    await answer;
    if (found[index]?.length === 0) await whole;
    else await clock.sleep(otherFamily, over.signal);
  });
  await Promise.race([whole, ...enough]);
  const addresses = found.flat();
  // A question that is still open would keep the process from its end, as a sleep would.
  resolver.cancel();
  over.abort();
  return addresses;
}

const pick = (addresses: readonly string[], family: 0 | 4 | 6): readonly LookupAddress[] =>
  addresses
    .map((address) => ({ address, family: isIP(address) }))
    .filter((one) => family === 0 || one.family === family);

/** What resolv.conf(5) says that matters here. */
interface ResolverSettings {
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
