import { nearestName } from '../lib/nearest.ts';

/** Format of the value of a hint. */
type HintKind =
  | { readonly kind: 'text'; readonly pattern: RegExp; readonly summary: string }
  | { readonly kind: 'count' | 'flag'; readonly summary: string };

/** Commas separate hints on a command line. */
const plain = /^[^,\s]([^,]*[^,\s])?$/;
const text = (summary: string, pattern = plain) => ({ kind: 'text', pattern, summary }) as const;

/**
 * The fields of `rootDeviceHints` that choose a disk (metal3, `RootDeviceHints`), with the meaning
 * that Ironic gives them (ironic-lib, `match_root_device_hints`): letters match in either case, a
 * size is in GiB.
 */
export const diskHintKinds = {
  deviceName: text('a path below /dev that leads to it', /^\/dev\/[^\s,]+$/),
  hctl: text('its SCSI address, 0:2:0:0', /^\d+:\d+:\d+:\d+$/),
  model: text('a part of its model'),
  vendor: text('a part of the name of its vendor'),
  serialNumber: text('its serial number'),
  wwn: text('its WWN, with or without the vendor extension'),
  wwnWithExtension: text('its WWN with the vendor extension'),
  wwnVendorExtension: text('the vendor extension of its WWN'),
  minSizeGigabytes: { kind: 'count', summary: 'its size in GiB, at least' },
  rotational: { kind: 'flag', summary: 'true: a disk that turns; false: an SSD' },
} as const satisfies Readonly<Record<string, HintKind>>;

type HintName = keyof typeof diskHintKinds;

/** Hints that choose a disk; a disk must match all given ones. */
export type DiskHints = {
  readonly [Name in HintName]?:
    | ((typeof diskHintKinds)[Name] extends { readonly kind: 'text' }
        ? string
        : (typeof diskHintKinds)[Name] extends { readonly kind: 'count' }
          ? number
          : boolean)
    | undefined;
};

const hintNames = Object.keys(diskHintKinds) as readonly HintName[];

/** The given hints, in the order of the table. */
export const givenHints = (hints: DiskHints) =>
  hintNames.flatMap((name) => {
    const value = hints[name];
    return value === undefined ? [] : [[name, value] as const];
  });

/** Hints as one word of a command line. */
export const renderDiskHints = (hints: DiskHints): string =>
  givenHints(hints)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');

/** Parses the output of `renderDiskHints`; `mistake` names the error in it. */
export function readDiskHints(
  line: string,
): { readonly hints: DiskHints } | { readonly mistake: string } {
  const hints: Record<string, string | number | boolean> = {};
  for (const word of line.split(',').filter((part) => part.trim() !== '')) {
    const at = word.includes('=') ? word.indexOf('=') : word.length;
    const [name, value] = [word.slice(0, at).trim(), word.slice(at + 1).trim()];
    if (!Object.hasOwn(diskHintKinds, name)) return { mistake: unknown(name) };
    const read = valueOf(diskHintKinds[name as HintName], value);
    if (read === undefined) return { mistake: `${name} is not ${wanted(name as HintName)}` };
    if (Object.hasOwn(hints, name)) return { mistake: `${name} is there twice` };
    hints[name] = read;
  }
  return { hints };
}

function unknown(name: string): string {
  const near = nearestName(name, hintNames);
  return `${JSON.stringify(name)} is no hint; ${near === undefined ? `there are ${hintNames.join(', ')}` : `did you mean ${near}`}`;
}

function valueOf(kind: HintKind, value: string): string | number | boolean | undefined {
  if (kind.kind === 'text') return kind.pattern.test(value) ? value : undefined;
  if (kind.kind === 'count') return /^[1-9]\d{0,8}$/.test(value) ? Number(value) : undefined;
  return value === 'true' ? true : value === 'false' ? false : undefined;
}

const wanted = (name: HintName): string => {
  const { kind, summary } = diskHintKinds[name];
  if (kind === 'text') return `a text without commas: ${summary}`;
  return kind === 'count' ? 'a whole number from 1' : 'true or false';
};
