import { Buffer } from 'node:buffer';
import { jsonIn } from '../lib/json.ts';
import type { DecodedObject } from './decode.ts';
import { type Finding, memberPath } from './finding.ts';
import type {
  Config,
  Directory,
  Disk,
  Dropin,
  File,
  Filesystem,
  Ignition,
  Raid,
  Resource,
  Storage,
  Unit,
} from './types.ts';
import { simplifyPath, visitObjects } from './validate.ts';
import { readSpec, type SpecMinor } from './version.ts';

type Item<L> = NonNullable<L> extends readonly (infer I)[] ? I : never;
type Partition = Item<Disk['partitions']>;
type Luks = Item<Storage['luks']>;
type Clevis = NonNullable<Luks['clevis']>;
type Custom = NonNullable<Clevis['custom']>;

/** A rule of one shape: the member that breaks it (empty for the object), its name, what is said, and when that is so. */
type Rule<T> = readonly [
  member: string,
  name: string,
  text: string,
  breaks: (value: T, minor: SpecMinor) => boolean,
];

/** The rules of one shape. */
interface ShapeRules {
  readonly broken: (value: DecodedObject, minor: SpecMinor) => readonly Rule<never>[];
}

const rulesOf = <T>(...rules: readonly Rule<T>[]): ShapeRules => ({
  // The walk hands each shape to the rules of its name.
  broken: (value, minor) => rules.filter(([, , , breaks]) => breaks(value as T, minor)),
});

/** Rules of which Ignition only warns. */
const warned: ReadonlySet<string> = new Set([
  ...['filesystem-on-partitions', 'filesystem-wiped', 'unit-not-installable'],
]);

const isPath = (path: string): boolean => path.startsWith('/') && path === simplifyPath(path);
const pathText = 'must be an absolute path that is fully simplified';
const isLonger = (text: string, bytes: number): boolean => Buffer.byteLength(text) > bytes;
const suffixOf = (name: string): string => /\.[^./]*$/.exec(name)?.[0] ?? '';

const guid = /^(?:|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/i;
const guidText = 'must look like 01234567-89AB-CDEF-EDCB-A98765432101';

/** Longest labels of mkfs in bytes, and the spec that brought a format. */
const formats: ReadonlyMap<string, { readonly label: number; readonly since: SpecMinor }> = new Map(
  [
    ['ext4', { label: 16, since: 0 }],
    ['btrfs', { label: 256, since: 0 }],
    ['xfs', { label: 12, since: 0 }],
    ['swap', { label: 15, since: 0 }],
    ['vfat', { label: 11, since: 0 }],
    ['none', { label: Infinity, since: 3 }],
  ],
);

/** Digits of a hash, and the spec that brought it. */
const hashes: ReadonlyMap<string, { readonly digits: number; readonly since: SpecMinor }> = new Map(
  [
    ['sha256', { digits: 64, since: 1 }],
    ['sha512', { digits: 128, since: 0 }],
  ],
);

/** What Ignition fetches from, and the spec that brought it. */
const schemes: ReadonlyMap<string, SpecMinor> = new Map([
  ...(['http', 'https', 'tftp', 's3', 'data'] as const).map((name) => [name, 0] as const),
  ['gs', 2],
  ['arn', 4],
]);

const schemeOf = (url: string): string =>
  /^([a-z][a-z\d+.-]*):/i.exec(url)?.[1]?.toLowerCase() ?? '';
const isHttp = (url: string): boolean => ['http', 'https'].includes(schemeOf(url));

const unstriped = [
  ...['raid1', '1', 'mirror', 'raid4', '4', 'raid5', '5'],
  ...['raid6', '6', 'raid10', '10'],
];
const striped = ['linear', 'raid0', '0', 'stripe'];

const unitTypes =
  /^\.(?:service|socket|device|mount|automount|swap|target|path|timer|snapshot|slice|scope)$/;

const isCustom = ({ custom }: Clevis, minor: SpecMinor): boolean =>
  minor <= 2 ? custom !== undefined : (custom?.pin ?? '') !== '';
const hasPins = ({ tang = [], threshold = 0, tpm2 = false }: Clevis): boolean =>
  tang.length > 0 || tpm2 || threshold !== 0;
/** In spec 3.2 a pin of its own needs no network alone. */
const isUsed = (
  { config = '', needsNetwork = false, pin = '' }: Custom,
  minor: SpecMinor,
): boolean => pin !== '' || config !== '' || (needsNetwork && minor > 2);

const isEmpty = ({ source = '' }: Resource): boolean => source === '';
const modeRule = (): Rule<File | Directory> => [
  ...(['mode', 'mode-out-of-range', 'must be between 0 and 4095 (07777)'] as const),
  ({ mode = 0 }) => mode < 0 || mode > 0o7777,
];

const resourceRules = (hashSince: SpecMinor) =>
  rulesOf<Resource>(
    [
      ...(['compression', 'compression-unknown', 'must be empty or gzip'] as const),
      ({ compression = '' }) => !['', 'gzip'].includes(compression),
    ],
    [
      ...(['source', 'url-scheme', 'has no URL scheme from which this spec fetches'] as const),
      ({ source = '' }, minor) =>
        source !== '' && (schemes.get(schemeOf(source)) ?? Infinity) > minor,
    ],
    [
      ...(['httpHeaders', 'headers-need-http', 'needs an http or https source'] as const),
      ({ httpHeaders = [], source = '' }) => httpHeaders.length > 0 && !isHttp(source),
    ],
    [
      ...(['verification', 'hash-without-source', 'needs a source to verify'] as const),
      ({ source, verification }, minor) =>
        minor >= hashSince && source === undefined && verification?.hash !== undefined,
    ],
  );

/**
 * The rules of Ignition 2.24 (`config/v3_x/types`) for what the product passes on unread, by the shape that they are of.
 * Nothing that Ignition takes breaks one. Of a URL only the scheme is read.
 */
const rules: Readonly<Record<string, ShapeRules>> = {
  ConfigReferences: rulesOf<NonNullable<Ignition['config']>>([
    ...(['merge', 'source-required', 'has an entry without a source'] as const),
    ({ merge = [] }, minor) => minor >= 1 && merge.some(isEmpty),
  ]),
  Tls: rulesOf<{ readonly certificateAuthorities?: readonly Resource[] }>([
    ...(['certificateAuthorities', 'source-required', 'has an entry without a source'] as const),
    ({ certificateAuthorities = [] }) => certificateAuthorities.some(isEmpty),
  ]),
  Proxy: rulesOf<NonNullable<Ignition['proxy']>>(
    ...(['httpProxy', 'httpsProxy'] as const).map(
      (member): Rule<NonNullable<Ignition['proxy']>> => [
        ...([member, 'proxy-scheme', 'must be an http or https URL'] as const),
        ({ [member]: url }) => url !== undefined && !isHttp(url),
      ],
    ),
  ),
  Resource: resourceRules(0),
  Reference: resourceRules(1),
  HttpHeader: rulesOf<Item<Resource['httpHeaders']>>(
    ['name', 'header-empty', 'must not be empty', ({ name }) => name === ''],
    ['value', 'header-empty', 'must not be empty', ({ value }) => value === ''],
  ),
  Verification: rulesOf<NonNullable<Resource['verification']>>([
    ...([
      'hash',
      'hash-invalid',
      'must be sha512 (from spec 3.1 also sha256), a hyphen and the digest',
    ] as const),
    ({ hash }, minor) => {
      if (hash === undefined) return false;
      const [, name = '', digest = ''] = /^([^-]*)-(.*)$/s.exec(hash) ?? [];
      const known = hashes.get(name);
      return (
        known === undefined ||
        known.since > minor ||
        isLonger(digest, known.digits) ||
        !isLonger(digest, known.digits - 1)
      );
    },
  ]),
  Owner: rulesOf<NonNullable<File['user']>>([
    ...(['', 'owner-id-and-name', 'must not have both an id and a name'] as const),
    ({ id, name = '' }) => id !== undefined && name !== '',
  ]),
  File: rulesOf<File>(modeRule(), [
    ...([
      'overwrite',
      'overwrite-without-source',
      'must not be true for a file without a source',
    ] as const),
    ({ overwrite, contents }) => overwrite === true && contents?.source === undefined,
  ]),
  Directory: rulesOf<Directory>(modeRule()),
  Storage: rulesOf<Storage>(
    [
      ...([
        'filesystems',
        'filesystem-on-partitions',
        'has a disk with partitions, which its filesystem overwrites',
      ] as const),
      (storage) => onDisks(storage).some(([, { partitions = [] }]) => partitions.length > 0),
    ],
    [
      ...([
        'filesystems',
        'filesystem-wiped',
        'has a disk whose partition table is wiped, and the filesystem with it',
      ] as const),
      (storage) =>
        onDisks(storage).some(
          ([{ wipeFilesystem }, { partitions = [], wipeTable }]) =>
            partitions.length === 0 && wipeFilesystem !== true && wipeTable === true,
        ),
    ],
  ),
  Disk: rulesOf<Disk>(
    ['device', 'device-path', pathText, ({ device }) => !isPath(device)],
    [
      ...(['partitions', 'partition-label-twice', 'has a label twice'] as const),
      ({ partitions = [] }) => {
        const labels = partitions.flatMap(({ label }) => label ?? []);
        return new Set(labels).size < labels.length;
      },
    ],
    [
      ...(['partitions', 'partition-overlap', 'has partitions that overlap'] as const),
      ({ partitions = [] }) => overlaps(partitions),
    ],
    [
      ...([
        'partitions',
        'partition-zero-and-absent',
        'must not have a partition without a number beside one with shouldExist: false',
      ] as const),
      ({ partitions = [] }) =>
        partitions.some(({ number }) => number === 0) &&
        partitions.some(({ shouldExist }) => shouldExist === false),
    ],
  ),
  Partition: rulesOf<Partition>(
    [
      ...([
        '',
        'partition-absent-with-others',
        'has shouldExist: false, so it must have no other settings',
      ] as const),
      ({ shouldExist, label, startMiB, sizeMiB, ...one }) =>
        shouldExist === false &&
        ((label ?? startMiB ?? sizeMiB) !== undefined ||
          `${one.guid ?? ''}${one.typeGuid ?? ''}` !== ''),
    ],
    [
      ...(['', 'partition-unnamed', 'needs a number or a label'] as const),
      ({ number, label }) => number === 0 && label === undefined,
    ],
    ['label', 'label-too-long', 'is longer than 36 bytes', ({ label = '' }) => isLonger(label, 36)],
    ['label', 'label-colon', 'must not have a colon', ({ label = '' }) => label.includes(':')],
    ['guid', 'guid-malformed', guidText, (one) => !guid.test(one.guid ?? '')],
    ['typeGuid', 'guid-malformed', guidText, ({ typeGuid = '' }) => !guid.test(typeGuid)],
  ),
  Filesystem: rulesOf<Filesystem>(
    ['device', 'device-path', pathText, ({ device }) => !isPath(device)],
    ['path', 'mount-path', pathText, ({ path = '' }) => path !== '' && !isPath(path)],
    [
      ...(['format', 'format-unknown', 'is no filesystem format of this spec'] as const),
      ({ format = '' }, minor) => format !== '' && (formats.get(format)?.since ?? Infinity) > minor,
    ],
    [
      ...(['format', 'format-required', 'must not be empty beside other settings'] as const),
      ({
        format = '',
        path = '',
        label = '',
        uuid = '',
        mountOptions = [],
        options = [],
        wipeFilesystem,
      }) =>
        format === '' &&
        (`${path}${label}${uuid}` !== '' ||
          mountOptions.length + options.length > 0 ||
          wipeFilesystem === true),
    ],
    [
      ...(['label', 'label-too-long', 'is longer than the format takes'] as const),
      ({ format = '', label = '' }) => isLonger(label, formats.get(format)?.label ?? Infinity),
    ],
  ),
  Raid: rulesOf<Raid>(
    [
      ...([
        'level',
        'raid-level',
        'must be a level of RAID: linear, raid0, 1, 4, 5, 6 or 10',
      ] as const),
      ({ level = '' }) => ![...striped, ...unstriped].includes(level),
    ],
    [
      ...(['spares', 'raid-no-spares', 'is of no use at this level'] as const),
      ({ level = '', spares = 0 }) => spares !== 0 && striped.includes(level),
    ],
    [
      'devices',
      'raid-devices-required',
      'needs a device',
      ({ devices = [] }) => devices.length === 0,
    ],
    ['devices', 'device-path', `${pathText} each`, ({ devices = [] }) => !devices.every(isPath)],
  ),
  Luks: rulesOf<Luks>(
    ['name', 'luks-name-slash', 'must not have a slash', ({ name }) => name.includes('/')],
    ['label', 'label-too-long', 'is longer than 47 bytes', ({ label = '' }) => isLonger(label, 47)],
    ['device', 'device-path', pathText, ({ device = '' }) => !isPath(device)],
    [
      ...(['cex', 'cex-with-others', 'must not be used with clevis or a key file'] as const),
      ({ cex, clevis = {}, keyFile = {} }, minor) =>
        cex?.enabled === true && (isCustom(clevis, minor) || hasPins(clevis) || !isEmpty(keyFile)),
    ],
  ),
  Clevis: rulesOf<Clevis>([
    ...([
      'custom',
      'clevis-custom-with-others',
      'must not be beside tang, tpm2 or threshold',
    ] as const),
    (clevis, minor) => isCustom(clevis, minor) && hasPins(clevis),
  ]),
  ClevisCustom: rulesOf<Custom>(
    [
      ...(['pin', 'clevis-pin', 'must be tpm2, tang or sss'] as const),
      (custom, minor) =>
        isUsed(custom, minor) && !['tpm2', 'tang', 'sss'].includes(custom.pin ?? ''),
    ],
    [
      ...(['config', 'clevis-config-required', 'is required'] as const),
      (custom, minor) => isUsed(custom, minor) && (custom.config ?? '') === '',
    ],
  ),
  Tang: rulesOf<Item<Clevis['tang']>>(
    ['url', 'tang-url', 'must be an http or https URL', ({ url }) => !isHttp(url)],
    [
      'thumbprint',
      'tang-thumbprint-required',
      'is required',
      ({ thumbprint = '' }) => thumbprint === '',
    ],
    [
      ...(['advertisement', 'tang-advertisement', 'is not JSON'] as const),
      ({ advertisement = '' }) => advertisement !== '' && jsonIn(advertisement) === undefined,
    ],
  ),
  Unit: rulesOf<Unit>(
    ['name', 'unit-name', 'has no suffix of a unit', ({ name }) => !unitTypes.test(suffixOf(name))],
    [
      ...(['contents', 'unit-syntax', 'is no text of a unit'] as const),
      ({ contents = '' }) => sectionsOf(contents) === undefined,
    ],
    [
      ...([
        'contents',
        'unit-not-installable',
        'is enabled, and has no [Install] section',
      ] as const),
      ({ contents = '', enabled }) =>
        enabled === true && contents !== '' && sectionsOf(contents)?.has('Install') === false,
    ],
  ),
  Dropin: rulesOf<Dropin>(
    ['name', 'dropin-name', 'must end in .conf', ({ name }) => suffixOf(name) !== '.conf'],
    [
      ...(['contents', 'unit-syntax', 'is no text of a unit'] as const),
      ({ contents = '' }) => sectionsOf(contents) === undefined,
    ],
  ),
};

/** A finding of any rule. */
export interface LintedFinding extends Omit<Finding, 'rule'> {
  readonly rule: string;
}

/** What a config breaks of the rules that only the first boot applies. */
export function lintFindings(config: Config): readonly LintedFinding[] {
  const { minor } = readSpec(config.ignition.version);
  const byShape = new Map(Object.entries(rules));
  return visitObjects(config).flatMap(({ shape, value, path }) =>
    (byShape.get(shape.name)?.broken(value, minor) ?? []).map(([member, rule, text]) => {
      const at = member === '' ? path : memberPath(path, member);
      const severity = warned.has(rule) ? 'warning' : 'error';
      return { rule, severity, path: at, message: `${at} ${text}` } as const;
    }),
  );
}

/** Filesystems that take a whole disk of the config. */
function onDisks({
  disks = [],
  filesystems = [],
}: Storage): readonly (readonly [Filesystem, Disk])[] {
  const named = new Map(disks.map((disk) => [disk.device, disk]));
  return filesystems.flatMap((filesystem) => {
    const disk = named.get(filesystem.device);
    return disk === undefined ? [] : [[filesystem, disk] as const];
  });
}

/** A partition table has 128 entries unless it was made for more; those beyond are held against none. */
const mostPartitions = 256;

/** As Ignition computes it: start 0 is the first free place, size 0 the rest, and a negative size ends before it starts. */
function overlaps(partitions: readonly Partition[]): boolean {
  const extents = partitions.slice(0, mostPartitions).flatMap(({ startMiB = 0, sizeMiB }) => {
    if (startMiB === 0 || sizeMiB === undefined) return [];
    return [[startMiB, sizeMiB === 0 ? startMiB : startMiB + sizeMiB - 1] as const];
  });
  return extents.some(([start, end], index) =>
    extents.some(
      ([first, last], other) =>
        other !== index &&
        ((start >= first && start <= last) ||
          (end >= first && end <= last) ||
          (start < first && end > last)),
    ),
  );
}

/** What Go's `unicode.IsSpace` takes for a space. */
const spaces = /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$/u;

const header = /\[([^\]]*)\]([^\n]*)/y;
const comment = /[#;](?:[^\n]*\\ ?\n)*[^\n]*/y;
const option = /[^=\n\r]*=(?:[^\n]*\\\n)*[^\n]*/y;

/**
 * The sections of a unit that hold an option; undefined for a text that Ignition refuses. It reads units with go-systemd
 * (`unit.Deserialize`), whose syntax is a little other than systemd's; that it also refuses lines of 2 KiB is not followed.
 */
export function sectionsOf(text: string): ReadonlySet<string> | undefined {
  const sections = new Set<string>();
  let at = 0;
  let section: string | undefined;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text) ?? undefined;
    if (found !== undefined) at = pattern.lastIndex;
    return found;
  };
  while (at < text.length) {
    if (text[at] === '[') {
      const [, name, rest] = take(header) ?? [];
      if (rest === undefined || !spaces.test(rest)) return undefined;
      section = name;
    } else if (take(comment) === undefined) {
      if (section === undefined || spaces.test(text.charAt(at))) at += 1;
      else if (take(option) === undefined) return undefined;
      else sections.add(section);
    }
  }
  return sections;
}
