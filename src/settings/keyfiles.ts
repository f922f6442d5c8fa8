import { canonicalAddress } from '../lib/address.ts';
import { yamlIn } from '../lib/yaml-text.ts';

/**
 * Folder of the keyfiles that `nmstatectl` generated from `network.nmstate`, for coreos-installer.
 */
export const nmstateFolder = '/opt/install-dir/network';

/** The name of a file and its text. */
export type NamedText = readonly [name: string, text: string];

const isFile = (value: unknown): value is NamedText =>
  Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string');

/**
 * The keyfiles in the output of `nmstatectl gc`; undefined if the output is something else. It is
 * YAML: `NetworkManager` has pairs of a file name and its text (nmstate 1.0.2 and newer,
 * `rust/src/lib/gen_conf.rs`), two of one name if two interfaces have one `profile-name`.
 */
export function nmstateKeyfiles(printed: string): readonly NamedText[] | undefined {
  const files = (yamlIn(printed) as { readonly NetworkManager?: unknown } | null | undefined)
    ?.NetworkManager;
  return Array.isArray(files) && files.every(isFile) ? files : undefined;
}

/** The properties that Bootwright reads from a NetworkManager keyfile. */
interface Connection {
  readonly name: string;
  readonly values: Values;
}

/** Values of a keyfile by `SECTION.KEY`; the value of a `SECTION` itself is empty. */
type Values = ReadonlyMap<string, string>;

/**
 * The errors in the syntax of keyfiles, and in the references between them, by the names of their
 * files. NetworkManager on the host judges the values. The messages show no value except the names
 * by which connections refer to each other.
 */
export function keyfileProblems(files: Iterable<NamedText>): readonly string[] {
  const read = [...files].map(([name, text]) => readKeyfile(name, text));
  if (read.length === 0) return ['there is no keyfile'];
  const connections = read.flatMap((one) => ('values' in one ? [one] : []));
  return [
    ...read.flatMap((one) => ('problem' in one ? [one.problem] : [])),
    ...duplicatesOf(connections, 'file', ({ name }) => name),
    ...duplicatesOf(connections, 'connection.uuid', ({ values }) =>
      values.get('connection.uuid')?.toLowerCase(),
    ),
    ...connections.flatMap((one) => missingController(one, connections)),
  ];
}

/**
 * In the first boot NetworkManager reads the files below /run, and only those that match this name
 * (`nm_keyfile_utils_ignore_filename`).
 */
const fileName = /^[^./][^/]*\.nmconnection$/;

function readKeyfile(name: string, text: string): Connection | { readonly problem: string } {
  if (!fileName.test(name)) return { problem: `${name}: NetworkManager reads only *.nmconnection` };
  const values = valuesIn(text);
  return typeof values === 'string' ? { problem: `${name}:${values}` } : { name, values };
}

/** Keys of addresses, which NetworkManager writes under other names. */
const addressKey =
  /^(?:(ipv[46])\.(?:(address|route)(?:es|s)?\d*|dns|gateway)|(?:ethernet|infiniband|bridge)\.(?:cloned-)?mac-address)$/;

/**
 * The keys of a keyfile whose value NetworkManager accepted only in part or not at all: what it did
 * not understand, a number that it read as octal, and a VLAN without its id, which it takes for
 * VLAN 0. `nmcli --offline` warns of none of them (NetworkManager 1.52).
 * @param read the connection as NetworkManager writes it after it read the file
 */
export function droppedKeys(given: string, read: string): readonly string[] {
  const [wanted, taken] = [given, read].map((text) => addressesIn(text));
  const dropped = [...(wanted ?? [])].flatMap(([key, { bucket, words }]) => {
    const those = [...(taken ?? [])].filter(([, other]) => other.bucket === bucket);
    const known = new Set(those.flatMap(([, other]) => other.words.flatMap(withoutPrefix)));
    return words.every((word) => known.has(word)) ? [] : [key];
  });
  const [own, other] = [namedValues(given), namedValues(read)];
  dropped.push(...droppedOptions(own, other), ...droppedRules(own, other));
  // Without any output nothing is known of them.
  if (other.size > 0) dropped.push(...[...own.keys()].filter((key) => isDropped(key, own, other)));
  const isVlan = other.has('vlan') && own.get('connection.type') === 'vlan';
  return isVlan && (own.get('vlan.id') ?? '') === '' ? [...dropped, 'vlan.id'] : dropped;
}

interface Addresses {
  /** The property of the connection that the address belongs to, under any key. */
  readonly bucket: string;
  readonly words: readonly string[];
}

/**
 * Addresses in the values of those keys, each in its canonical form; a prefix or a metric alone is
 * not an address, nor is the unspecified address. With `never-default` NetworkManager leaves the
 * gateway out, which then has no effect (`_normalize_ip_config`).
 */
function addressesIn(text: string): ReadonlyMap<string, Addresses> {
  const values = namedValues(text);
  return new Map(
    [...values].flatMap(([key, value]) => {
      const [matched, family = '', kind = ''] = addressKey.exec(key) ?? [];
      if (matched === undefined) return [];
      const isDns = key.endsWith('.dns');
      const bucket =
        family === '' ? key : `${family} ${isDns ? 'dns' : kind === 'route' ? kind : 'address'}`;
      const words = value.split(/[,;\s]+/).filter((word) => !/^(?:\d*|0\.0\.0\.0|::)$/.test(word));
      const hasNoGateway = /^(?:true|1)$/.test(values.get(`${family}.never-default`) ?? '');
      if (hasNoGateway && bucket.endsWith('address')) words.splice(kind === '' ? 0 : 1);
      return [[key, { bucket, words: words.map(oneSpelling) }] as const];
    }),
  );
}

function oneSpelling(word: string): string {
  const [address = '', ...prefix] = word.toLowerCase().split('/');
  return [canonicalAddress(address) ?? hardwareAddress(address), ...prefix].join('/');
}

/** A hardware address with two digits in each part, between colons. */
const hardwareAddress = (text: string): string =>
  /^[\da-f]{1,2}(?:[:-][\da-f]{1,2})+$/.test(text)
    ? text.replaceAll('-', ':').replaceAll(/(?<![\da-f])[\da-f](?![\da-f])/g, '0$&')
    : text;

const withoutPrefix = (word: string): readonly string[] => [word, word.replace(/\/\d+$/, '')];

/**
 * The options of routes of which one was dropped, with those behind it, and options without a
 * route. NetworkManager numbers routes from 1 and sorts their options.
 */
function droppedOptions(given: Values, read: Values): readonly string[] {
  const known = new Set(optionsIn(read).flatMap(({ options }) => options));
  return optionsIn(given)
    .filter(({ route, options }) => options.some((one) => !given.has(route) || !known.has(one)))
    .map(({ route }) => `${route}_options`);
}

/** The keys of routes with their options, each with the section of the route, in one spelling. */
const optionsIn = (values: Values) =>
  [...values].flatMap(([key, value]) => {
    const [, route, section = ''] = /^((ipv[46])\.routes?\d*)_options$/.exec(key) ?? [];
    if (route === undefined) return [];
    const options = value.split(',').filter((option) => option !== '');
    return [{ route, options: options.map((option) => `${section} ${oneOption(option)}`) }];
  });

/** `NAME=VALUE` in one spelling; a blank in the name makes it another name. */
function oneOption(option: string): string {
  const at = option.indexOf('=') + 1;
  const word = option
    .slice(at)
    .trim()
    .toLowerCase()
    .replace(/^(?:true|yes|on)$/, '1')
    .replace(/^(?:false|no|off)$/, '0');
  const value = /^\+?\d+$/.test(word) ? word.replace(/^\+?0*(?=\d)/, '') : word;
  return `${option.slice(0, at)}${oneSpelling(value)}`;
}

/**
 * The routing rules that were dropped. NetworkManager writes rules in other words and with other
 * numbers: they are counted, and named by their priorities, which each must have.
 */
function droppedRules(given: Values, read: Values): readonly string[] {
  const taken = rulesIn(read);
  return [...rulesIn(given)].flatMap(([section, rules]) => {
    const known = taken.get(section) ?? [];
    if (known.length >= rules.length) return [];
    const priorities = new Set(known.map(priorityOf));
    const dropped = rules.filter((rule) => !priorities.has(priorityOf(rule)));
    return (dropped.length > 0 ? dropped : rules).map(([key]) => key);
  });
}

const rulesIn = (values: Values) =>
  Map.groupBy(
    [...values].filter(([key, value]) => /^ipv[46]\.routing-rule\d*$/.test(key) && value !== ''),
    ([key]) => key.slice(0, 'ipv4'.length),
  );

const priorityOf = ([, rule]: readonly [string, string]): number =>
  Number(/\b(?:priority|pref|preference|order)\s+(\S+)/.exec(rule)?.[1]);

/** Modes of a bond by their numbers (Linux, bonding.rst); NetworkManager writes the names. */
const bondModes = [
  ...['balance-rr', 'active-backup', 'balance-xor', 'broadcast'],
  ...['802.3ad', 'balance-tlb', 'balance-alb'],
];

/**
 * Keys with rules of their own, and those that NetworkManager leaves out where they have no effect:
 * a duplex mode without a speed, and the options of other modes of a bond.
 */
const otherKey =
  /^(?:ipv[46]\.(?:routing-rule\d*|routes?\d*_options)|ethernet\.duplex|bond\.(?:active_slave|ad_actor_sys\w*|ad_user_port_key|arp_validate|packets_per_slave|tlb_dynamic_lb))$/;

const wholeNumber = /^[-+]?(?:0x[\da-f]+|\d+)$/i;

/**
 * Whether the value of any other key was dropped or misread. NetworkManager writes no default: a
 * missing number or boolean counts as one, except where the default is no number of an operator. A
 * renamed key has the same value under another name of its section; older sections have the name of
 * the interface.
 */
function isDropped(key: string, given: Values, read: Values): boolean {
  const [value, taken] = [given.get(key) ?? '', read.get(key)];
  if (otherKey.test(key) || addressKey.test(key)) return false;
  // A port has no IP settings: NetworkManager writes none of the defaults that tools give it.
  if (/^ipv[46]\./.test(key) && !read.has(key.slice(0, 'ipv4'.length))) return false;
  if (key === 'bond.mode') return taken !== value && taken !== bondModes[Number(value)];
  if (/^bridge(?:-port)?\.vlans$/.test(key)) return vlansIn(taken) < vlansIn(value);
  const isNumber = wholeNumber.test(value);
  if (taken !== undefined)
    return isNumber && wholeNumber.test(taken) && Number(value) !== Number(taken);
  if (isNumber) return Number(value) !== 0 && /\.(?:mtu|route-table)$|^vlan\.id$|^bond\./.test(key);
  if (/^(?:true|false|[;,\s]*|default-or-eui64)$/.test(value)) return false;
  const section = key.slice(0, key.indexOf('.') + 1);
  return ![...read].some(
    ([name, other]) =>
      listIn(other) === listIn(value) &&
      (name.startsWith(section) || name === 'connection.interface-name'),
  );
}

/** A value in one spelling: a list may end with `;`, and hardware addresses are in capitals. */
const listIn = (value: string): string => value.toLowerCase().replace(/;$/, '');

const vlansIn = (list = ''): number => list.split(',').filter((vlan) => vlan.trim() !== '').length;

/** The values of a keyfile, with the current names of sections that have an older name. */
const namedValues = (text: string): Values => {
  const values = valuesIn(text);
  return typeof values === 'string'
    ? new Map()
    : new Map(
        [...values].map(([key, value]) => [key.replace(/^802-3-ethernet/, 'ethernet'), value]),
      );
};

/** A key name of GLib (`g_key_file_is_key_name`): brackets only enclose a language. */
const keyName = /^[^[\]]+(\[[\p{L}\p{N}_.@-]+\])?$/u;

/** The values of a keyfile, or the line that cannot be used, with the reason (GKeyFile of GLib). */
function valuesIn(text: string): Values | string {
  const values = new Map<string, string>();
  let group: string | undefined;
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    // GLib does not count a byte order mark or a no-break space as a blank.
    const problem = `${index + 1}: neither [SECTION] nor KEY=VALUE in one`;
    if (/\P{ASCII}/u.test(raw.replace(line, ''))) return problem;
    if (/^(#|$)/.test(line)) continue;
    const header = /^\[([^[\]]+)\]$/.exec(line)?.[1];
    group = header ?? group;
    if (header !== undefined) {
      values.set(header, '');
      continue;
    }
    const at = line.indexOf('=');
    const key = line.slice(0, Math.max(at, 0)).trim();
    if (!keyName.test(key) || group === undefined) return problem;
    const [name, value] = [`${group}.${key}`, line.slice(at + 1).trim()];
    // GLib takes the last one.
    if ((values.get(name) ?? value) !== value) return `${index + 1}: ${name} is there twice`;
    values.set(name, value);
  }
  return values;
}

function duplicatesOf(
  connections: readonly Connection[],
  what: string,
  of: (one: Connection) => string | undefined,
): readonly string[] {
  return [...Map.groupBy(connections, of)].flatMap(([value, those]) =>
    value === undefined || those.length < 2
      ? []
      : [`${those.map(({ name }) => name).join(', ')}: the same ${what}`],
  );
}

/**
 * The controller of a connection, if no keyfile makes it: a bond or a bridge exists only through a
 * connection of its own.
 */
function missingController(
  { name, values }: Connection,
  all: readonly Connection[],
): readonly string[] {
  const controller = values.get('connection.controller') ?? values.get('connection.master');
  const isThere = all.some(({ values: other }) =>
    ['interface-name', 'uuid'].some((key) => other.get(`connection.${key}`) === controller),
  );
  return controller === undefined || isThere
    ? []
    : [`${name}: no keyfile makes ${controller}, its controller`];
}
