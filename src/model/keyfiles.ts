import { canonicalAddress } from '../lib/address.ts';
import { yamlIn } from '../lib/yaml-text.ts';

/** Where the keyfiles that `nmstatectl` made of `network.nmstate` are, for coreos-installer. */
export const nmstateFolder = '/opt/install-dir/network';

/** The name of a file and its text. */
export type NamedText = readonly [name: string, text: string];

const isFile = (value: unknown): value is NamedText =>
  Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string');

/**
 * The keyfiles that `nmstatectl gc` printed; undefined where it printed something else. It is YAML:
 * below `NetworkManager` pairs of a file name and its text (nmstate 1.0.2 and newer,
 * `rust/src/lib/gen_conf.rs`), two of one name where two interfaces have one `profile-name`.
 */
export function nmstateKeyfiles(printed: string): readonly NamedText[] | undefined {
  const files = (yamlIn(printed) as { readonly NetworkManager?: unknown } | null | undefined)
    ?.NetworkManager;
  return Array.isArray(files) && files.every(isFile) ? files : undefined;
}

/** What is read of a NetworkManager keyfile. */
interface Connection {
  readonly name: string;
  readonly values: Values;
}

/** Values of a keyfile by `SECTION.KEY`; that of a `SECTION` is empty. */
type Values = ReadonlyMap<string, string>;

/**
 * What is wrong with the form of keyfiles, and between them, by the names of their files. What the
 * values of one mean, NetworkManager judges on the host. No value is shown, but for the names by
 * which connections refer to each other.
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
 * In the first boot NetworkManager reads the files below /run, those of this name alone
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

/**
 * Keys whose values NetworkManager drops where it cannot read them, instead of refusing the file.
 */
const addressKey =
  /^(?:(ipv[46])\.(?:(address|route)(?:es|s)?\d*|dns|gateway)|ethernet\.(?:cloned-)?mac-address)$/;

/**
 * The keys of a keyfile of which NetworkManager took a part or nothing: an address, a route, a DNS
 * server or a hardware address that it did not understand, and a VLAN without its id, which it
 * takes for VLAN 0.
 * @param read the connection as NetworkManager writes what it took of the file
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
  /** What of the connection it is, whichever key says it. */
  readonly bucket: string;
  readonly words: readonly string[];
}

/**
 * Words of those keys, each in its one spelling; a prefix or a metric of its own is none, nor is
 * the address of nothing.
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

/** The older name of a section is that of today. */
const namedValues = (text: string): Values => {
  const values = valuesIn(text);
  return typeof values === 'number'
    ? new Map()
    : new Map(
        [...values].map(([key, value]) => [key.replace(/^802-3-ethernet/, 'ethernet'), value]),
      );
};

/** Of GLib (`g_key_file_is_key_name`): brackets are there for a language alone. */
const keyName = /^[^[\]]+(\[[\p{L}\p{N}_.@-]+\])?$/u;

/** The values of a keyfile, or the line that cannot be read (GKeyFile of GLib). */
function valuesIn(text: string): Values | number {
  const values = new Map<string, string>();
  let group: string | undefined;
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    // To GLib a byte order mark or a no-break space is no blank.
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

/** The device of a bond or a bridge is there only by a connection of its own. */
function lost({ name, values }: Connection, all: readonly Connection[]): readonly string[] {
  const controller = values.get('connection.controller') ?? values.get('connection.master');
  const isThere = all.some(({ values: other }) =>
    ['interface-name', 'uuid'].some((key) => other.get(`connection.${key}`) === controller),
  );
  return controller === undefined || isThere
    ? []
    : [`${name}: no keyfile makes ${controller}, its controller`];
}
