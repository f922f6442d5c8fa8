import { canonicalAddress } from './address.ts';
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
  /** Values by `SECTION.KEY`; that of a `SECTION` is empty. */
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

/** A VLAN has its parent by name, or by the address that it shares with it (`nm-setting-vlan.c`). */
const isNowhere = (values: Connection['values']): boolean =>
  values.get('connection.type') === 'vlan' &&
  !['ethernet', '802-3-ethernet'].some((section) => values.has(`${section}.mac-address`));

/** Where no type is given, the section of one says it (`nm_connection_normalize`), and the name of the file its id (`nms-keyfile-reader.c`). */
const ownSection =
  /^(?:(?:802-3-)?ethernet|infiniband|bond|bridge|team|dummy|vrf|vxlan|macvlan|vlan|ovs-(?:bridge|interface|port))$/;

function readKeyfile(name: string, text: string): Connection | { readonly problem: string } {
  if (!fileName.test(name)) return { problem: `${name}: NetworkManager reads only *.nmconnection` };
  const given = valuesIn(text);
  if (typeof given === 'number')
    return { problem: `${name}:${given}: neither [SECTION] nor KEY=VALUE in one` };
  const values = new Map([
    ['connection.id', name.replace(/\.nmconnection$/, '')],
    ['connection.type', [...given.keys()].find((key) => ownSection.test(key)) ?? ''],
    ...given,
  ]);
  const needed = [
    'connection.id',
    'connection.type',
    ...(isNowhere(values) ? ['vlan.parent'] : []),
  ];
  const missing = needed.find((key) => (values.get(key) ?? '') === '');
  const problem =
    missing === undefined
      ? valueProblems.map((problemIn) => problemIn(values)).find((one) => one !== undefined)
      : `${missing} is missing`;
  return problem === undefined ? { name, values } : { problem: `${name}: ${problem}` };
}

/** One is made by the connection itself, so its name must be known (`nm_connection_normalize`). */
const makesInterface = /^(?:bond|bridge|dummy|team|vrf|wireguard|ovs-bridge|ovs-port)$/;

/** What stands for an interface; the kernel is not asked for those of the database of Open vSwitch. */
const interfaceName = /^[^\s/:%]{1,15}$/;

/** By `[bridge-port]` and its like NetworkManager knows what a port is of (`_nm_connection_detect_slave_type`). */
const portSection = /^(?:[a-z]+-port|ovs-.+)$/;

/** What NetworkManager 1.52 says of values in its own words, `nmcli --offline connection modify`: it reads nothing else of such a file. */
const valueProblems: readonly ((values: Connection['values']) => string | undefined)[] = [
  (values) =>
    uuid.test(values.get('connection.uuid') ?? noUuid) ? undefined : 'connection.uuid is no UUID',
  (values) => {
    const type = values.get('connection.type') ?? '';
    if (!/^[\da-z-]+$/.test(type)) return unfit(values, 'connection.type', 'is no type');
    const key = ['connection', type].map((section) => `${section}.interface-name`);
    const name = key.map((one) => values.get(one)).find((one) => one !== undefined);
    if (name === undefined)
      return makesInterface.test(type) ? 'connection.interface-name is missing' : undefined;
    return interfaceName.test(name) || /^ovs-(?:bridge|port)$/.test(type)
      ? undefined
      : unfit(values, 'connection.interface-name', 'is no name of an interface');
  },
  (values) => {
    const parent = values.get('vlan.parent') ?? 'eth0';
    const isParent = interfaceName.test(parent) || uuid.test(parent);
    return isParent
      ? undefined
      : unfit(values, 'vlan.parent', 'is neither an interface nor a UUID');
  },
  (values) => {
    const [controller, port] = [controllerOf(values), portTypeOf(values)];
    if (port === undefined && controller !== undefined)
      return [...values.keys()].some((key) => portSection.test(key))
        ? undefined
        : 'connection.port-type is missing beside connection.controller';
    if (port !== undefined && !/^(?:bond|bridge|team|vrf|hsr|ovs-\w+)$/.test(port))
      return unfit(values, 'connection.port-type', 'is no type of a port');
    return port === undefined || controller !== undefined
      ? undefined
      : 'connection.controller is missing beside connection.port-type';
  },
  (values) => addressProblem(values, 'ipv4', /^(?:auto|disabled|link-local|manual|shared)$/),
  (values) =>
    addressProblem(values, 'ipv6', /^(?:auto|dhcp|disabled|ignore|link-local|manual|shared)$/),
];

/** A comment behind a value is the usual reason. */
const unfit = (values: Connection['values'], key: string, what: string): string =>
  `${key} ${what}${/\s#/.test(values.get(key) ?? '') ? ': a comment begins its line' : ''}`;

const controllerOf = (values: Connection['values']): string | undefined =>
  values.get('connection.controller') ?? values.get('connection.master');

const portTypeOf = (values: Connection['values']): string | undefined =>
  values.get('connection.port-type') ?? values.get('connection.slave-type');

type Family = 'ipv4' | 'ipv6';

/** `ADDRESS/PREFIX,GATEWAY`, and what older versions wrote (`nm-keyfile.c`, `read_ip_address_or_route_value`). */
const addressForm = /^([\da-f.:]+)(?:[/;,][\da-f.:/;,\s]*)?$/i;

const isOf = (family: Family, text = ''): boolean =>
  text.includes(':') === (family === 'ipv6') && canonicalAddress(text) !== undefined;

function addressProblem(
  values: Connection['values'],
  family: Family,
  methods: RegExp,
): string | undefined {
  if (!values.has(family)) return undefined;
  const [method = '', gateway] = ['method', 'gateway'].map((key) => values.get(`${family}.${key}`));
  if (!methods.test(method)) return unfit(values, `${family}.method`, 'is missing or no method');
  const has = (what: RegExp, form: RegExp): boolean =>
    [...values].some(([key, value]) => {
      const [section, own = ''] = key.split('.', 2);
      return section === family && what.test(own) && isOf(family, form.exec(value)?.[1]);
    });
  const hasAddress = has(/^address(?:es)?(?:0|[1-9]\d*)?$/, addressForm);
  if (method === 'manual' && !hasAddress && !has(/^routes?\d*$/, /^([\da-f.:]+)/i))
    return `${family}.method=manual needs address1=ADDRESS/PREFIX`;
  if (hasAddress && /^(?:disabled|ignore|link-local)$/.test(method))
    return `${family}.method=${method} has no address`;
  if (gateway === undefined || (hasAddress && isOf(family, gateway))) return undefined;
  return unfit(values, `${family}.gateway`, 'is no address, or has none beside it');
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
  const controller = controllerOf(values);
  const isThere = all.some(({ values: other }) =>
    ['interface-name', 'uuid'].some((key) => other.get(`connection.${key}`) === controller),
  );
  return controller === undefined || isThere
    ? []
    : [`${name}: no keyfile makes ${controller}, its controller`];
}
