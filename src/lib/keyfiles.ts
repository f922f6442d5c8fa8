import { yamlIn } from './yaml-text.ts';

/** Where the keyfiles that `nmstatectl` made of `network.nmstate` are, for coreos-installer. */
export const nmstateFolder = '/opt/install-dir/network';

/** The name of a file and its text. */
type NamedText = readonly [name: string, text: string];

const isFile = (value: unknown): value is NamedText =>
  Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string');

/**
 * The keyfiles that `nmstatectl gc` printed; undefined where it printed something else. It is YAML: below `NetworkManager`
 * pairs of a file name and its text (nmstate 1.0.2 and newer, `rust/src/lib/gen_conf.rs`), two of one name where two
 * interfaces have one `profile-name`.
 */
export function nmstateKeyfiles(printed: string): readonly NamedText[] | undefined {
  const files = (yamlIn(printed) as { readonly NetworkManager?: unknown } | null | undefined)
    ?.NetworkManager;
  return Array.isArray(files) && files.every(isFile) ? files : undefined;
}

/** What is read of a NetworkManager keyfile. */
interface Connection {
  readonly name: string;
  /** Values by `SECTION.KEY`. */
  readonly values: ReadonlyMap<string, string>;
}

/**
 * What NetworkManager would not read, or could not bring up, of the keyfiles of a host (nm-settings-keyfile(5)), by the names
 * of their files. A value of a file is not shown, but for the names by which connections refer to each other.
 */
export function keyfileProblems(files: Iterable<NamedText>): readonly string[] {
  const read = [...files].map(([name, text]) => readKeyfile(name, text));
  if (read.length === 0) return ['there is no keyfile'];
  const connections = read.flatMap((one) => ('values' in one ? [one] : []));
  return [
    ...read.flatMap((one) => ('problem' in one ? [one.problem] : [])),
    ...['id', 'uuid'].flatMap((key) => twice(connections, key)),
    ...connections.flatMap((one) => lost(one, connections)),
  ];
}

/** In the first boot NetworkManager reads the files below /run, those of this name alone (`nm_keyfile_utils_ignore_filename`). */
const fileName = /^[^./][^/]*\.nmconnection$/;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** One is made where none is given. */
const noUuid = '00000000-0000-0000-0000-000000000000';

const needed = ['connection.id', 'connection.type'];

/** A VLAN has its parent by name, or by the address that it shares with it (`nm-setting-vlan.c`). */
const isNowhere = (values: Connection['values']): boolean =>
  values.get('connection.type') === 'vlan' &&
  !['ethernet', '802-3-ethernet'].some((section) => values.has(`${section}.mac-address`));

function readKeyfile(name: string, text: string): Connection | { readonly problem: string } {
  if (!fileName.test(name)) return { problem: `${name}: NetworkManager reads only *.nmconnection` };
  const values = valuesIn(text);
  if (typeof values === 'number')
    return { problem: `${name}:${values}: neither [SECTION] nor KEY=VALUE in one` };
  const missing = [...needed, ...(isNowhere(values) ? ['vlan.parent'] : [])].find(
    (key) => (values.get(key) ?? '') === '',
  );
  if (missing !== undefined) return { problem: `${name}: ${missing} is missing` };
  return uuid.test(values.get('connection.uuid') ?? noUuid)
    ? { name, values }
    : { problem: `${name}: connection.uuid is no UUID` };
}

/** Of GLib (`g_key_file_is_key_name`): brackets are there for a language alone. */
const keyName = /^[^[\]]+(\[[\p{L}\p{N}_.@-]+\])?$/u;

/** The values of a keyfile, or the line that cannot be read (GKeyFile of GLib). */
function valuesIn(text: string): Connection['values'] | number {
  const values = new Map<string, string>();
  let group: string | undefined;
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    // To GLib a byte order mark or a no-break space is no blank.
    if (/\P{ASCII}/u.test(raw.replace(line, ''))) return index + 1;
    if (/^(#|$)/.test(line)) continue;
    const header = /^\[([^[\]]+)\]$/.exec(line)?.[1];
    group = header ?? group;
    if (header !== undefined) continue;
    const at = line.indexOf('=');
    const key = line.slice(0, Math.max(at, 0)).trim();
    if (!keyName.test(key) || group === undefined) return index + 1;
    values.set(`${group}.${key}`, line.slice(at + 1).trim());
  }
  return values;
}

function twice(connections: readonly Connection[], key: string): readonly string[] {
  const by = Map.groupBy(connections, ({ values }) =>
    values.get(`connection.${key}`)?.toLowerCase(),
  );
  return [...by].flatMap(([value, those]) =>
    value === undefined || those.length < 2
      ? []
      : [`${those.map(({ name }) => name).join(', ')}: the same connection.${key}`],
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
