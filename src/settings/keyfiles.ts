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
    ...twice(connections, 'file', ({ name }) => name),
    ...twice(connections, 'connection.uuid', ({ values }) =>
      values.get('connection.uuid')?.toLowerCase(),
    ),
    ...connections.flatMap((one) => lost(one, connections)),
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
  return typeof values === 'number'
    ? { problem: `${name}:${values}: neither [SECTION] nor KEY=VALUE in one` }
    : { name, values };
}

/** Keys whose unreadable values NetworkManager drops instead of refusing the file. */
const addressKey =
  /^(?:(ipv[46])\.(?:(address|route)(?:es|s)?\d*|dns|gateway)|ethernet\.(?:cloned-)?mac-address)$/;

/**
 * The keys of a keyfile whose value NetworkManager accepted only in part or not at all: an address,
 * a route, a DNS server or a hardware address that it did not understand, and a VLAN without its
 * id, which it takes for VLAN 0.
 * @param read the connection as NetworkManager writes it after it read the file
 */
export function droppedKeys(given: string, read: string): readonly string[] {
  const [wanted, taken] = [given, read].map((text) => addressesIn(text));
  const dropped = [...(wanted ?? [])].flatMap(([key, { bucket, words }]) => {
    const those = [...(taken ?? [])].filter(([, other]) => other.bucket === bucket);
    const known = new Set(those.flatMap(([, other]) => other.words.flatMap(withoutPrefix)));
    return words.every((word) => known.has(word)) ? [] : [key];
  });
  const values = new Map([...namedValues(read), ...namedValues(given)]);
  const hasVlan = values.has('vlan') && values.get('connection.type') === 'vlan';
  return hasVlan && !/^\d+$/.test(values.get('vlan.id') ?? '') ? [...dropped, 'vlan.id'] : dropped;
}

interface Addresses {
  /** The property of the connection that the address belongs to, under any key. */
  readonly bucket: string;
  readonly words: readonly string[];
}

/**
 * Addresses in the values of those keys, each in its canonical form; a prefix or a metric alone is
 * not an address, nor is the unspecified address.
 */
const addressesIn = (text: string): ReadonlyMap<string, Addresses> =>
  new Map(
    [...namedValues(text)].flatMap(([key, value]) => {
      const [matched, family = '', kind = ''] = addressKey.exec(key) ?? [];
      if (matched === undefined) return [];
      const isDns = key.endsWith('.dns');
      const bucket =
        family === '' ? key : `${family} ${isDns ? 'dns' : kind === 'route' ? kind : 'address'}`;
      const words = value.split(/[,;\s]+/).filter((word) => !/^(?:\d*|0\.0\.0\.0|::)$/.test(word));
      return [[key, { bucket, words: words.map(oneSpelling) }] as const];
    }),
  );

function oneSpelling(word: string): string {
  const [address = '', ...prefix] = word.toLowerCase().split('/');
  return [canonicalAddress(address) ?? address, ...prefix].join('/');
}

const withoutPrefix = (word: string): readonly string[] => [word, word.replace(/\/\d+$/, '')];

/** The values of a keyfile, with the current names of sections that have an older name. */
const namedValues = (text: string): Values => {
  const values = valuesIn(text);
  return typeof values === 'number'
    ? new Map()
    : new Map(
        [...values].map(([key, value]) => [key.replace(/^802-3-ethernet/, 'ethernet'), value]),
      );
};

/** A key name of GLib (`g_key_file_is_key_name`): brackets only enclose a language. */
const keyName = /^[^[\]]+(\[[\p{L}\p{N}_.@-]+\])?$/u;

/** The values of a keyfile, or the number of the line that cannot be parsed (GKeyFile of GLib). */
function valuesIn(text: string): Values | number {
  const values = new Map<string, string>();
  let group: string | undefined;
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    // GLib does not count a byte order mark or a no-break space as a blank.
    if (/\P{ASCII}/u.test(raw.replace(line, ''))) return index + 1;
    if (/^(#|$)/.test(line)) continue;
    const header = /^\[([^[\]]+)\]$/.exec(line)?.[1];
    group = header ?? group;
    if (header !== undefined) {
      values.set(header, '');
      continue;
    }
    const at = line.indexOf('=');
    const key = line.slice(0, Math.max(at, 0)).trim();
    if (!keyName.test(key) || group === undefined) return index + 1;
    values.set(`${group}.${key}`, line.slice(at + 1).trim());
  }
  return values;
}

function twice(
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
function lost({ name, values }: Connection, all: readonly Connection[]): readonly string[] {
  const controller = values.get('connection.controller') ?? values.get('connection.master');
  const isThere = all.some(({ values: other }) =>
    ['interface-name', 'uuid'].some((key) => other.get(`connection.${key}`) === controller),
  );
  return controller === undefined || isThere
    ? []
    : [`${name}: no keyfile makes ${controller}, its controller`];
}
