import { isFields } from '../lib/fields.ts';
import { ignitionFailure } from './failures.ts';
import type { JsonObject } from './json.ts';
import type { Config } from './types.ts';

/** One violation of one rule in a config. It never quotes content, which may be secret. */
export interface Finding {
  readonly rule: 'wrong-type' | 'duplicate-entry' | 'path-relative' | 'path-through-link';
  /** Path of the violation, as in `storage.files[2].path`; empty for the whole config. */
  readonly path: string;
  /** One sentence with the path and the violation. */
  readonly message: string;
}

/** The path of a member: `memberPath('storage.files', 2)` is `storage.files[2]`. */
export const memberPath = (path: string, segment: PropertyKey): string => {
  if (typeof segment === 'number') return `${path}[${segment}]`;
  return path === '' ? String(segment) : `${path}.${String(segment)}`;
};

/**
 * @throws AgentError with the given code, the first finding in its message and context
 */
export function refuseFindings(
  findings: readonly Finding[],
  code: 'ignition.invalid' | 'ignition.merge-invalid',
): void {
  const [first] = findings;
  if (first === undefined) return;
  const more = findings.length > 1 ? ` (and ${findings.length - 1} more)` : '';
  const subject = code === 'ignition.invalid' ? 'ignition config' : 'merged ignition config';
  throw ignitionFailure(code, `${subject} is not valid: ${first.message}${more}`, {
    context: { rule: first.rule, path: first.path, errors: findings.length },
  });
}

/** The member that is the key of an entry, by the name of its list. */
const keys = new Map([
  ['certificateAuthorities', 'source'],
  ['directories', 'path'],
  ['disks', 'device'],
  ['dropins', 'name'],
  ['files', 'path'],
  ['filesystems', 'device'],
  ['groups', 'name'],
  ['httpHeaders', 'name'],
  ['links', 'path'],
  ['luks', 'name'],
  ['merge', 'source'],
  ['partitions', 'label'],
  ['raid', 'name'],
  ['tang', 'url'],
  ['units', 'name'],
  ['users', 'name'],
]);

/** Lists that may repeat an entry (`IgnoreDuplicates`). */
const repeating = new Set(['append', 'mountOptions', 'options']);

/**
 * The key of a list entry: two entries with one key merge, and a list has each key once. Undefined
 * for a list without keys. A string is its own key; the key of a partition with a number is the
 * number (Ignition, `config/v3_x/types`, `Key`).
 */
export function keyOf(list: string, entry: unknown): string | undefined {
  if (repeating.has(list)) return undefined;
  if (typeof entry === 'string') return JSON.stringify(entry);
  const name = keys.get(list);
  if (name === undefined || !isFields(entry)) return undefined;
  const { number = 0 } = list === 'partitions' ? entry : {};
  return JSON.stringify(number === 0 ? (entry[name] ?? '') : number);
}

const paths = ['directories', 'files', 'links'];
const kernelArguments = ['shouldExist', 'shouldNotExist'];

/**
 * Groups of lists that share their keys, by the name of each list: a path is a file or a link, not
 * both.
 */
export const sharing: ReadonlyMap<string, readonly string[]> = new Map([
  ...paths.map((list) => [list, paths] as const),
  ...kernelArguments.map((list) => [list, kernelArguments] as const),
]);

/** Visits each object of a config with its path, before the objects in it. */
export function visitObjects(
  value: unknown,
  visit: (value: JsonObject, path: string) => void,
  path = '',
): void {
  if (Array.isArray(value)) {
    value.forEach((entry, index) => visitObjects(entry, visit, memberPath(path, index)));
  } else if (isFields(value)) {
    visit(value, path);
    for (const [name, member] of Object.entries(value))
      visitObjects(member, visit, memberPath(path, name));
  }
}

/**
 * Validates the parts of a config that this program merges, reads or extends: duplicate keys,
 * relative paths and paths through a link. Other parts are passed on, as coreos-installer does:
 * Ignition judges them at the first boot, by the rules of its version. Ignition refuses everything
 * that this function refuses.
 */
export function validateConfig(config: Config): readonly Finding[] {
  const found: Finding[] = [];
  const report = (rule: Finding['rule'], path: string, what: string): void => {
    found.push({ rule, path, message: `${path} ${what}` });
  };
  visitObjects(config, (value, path) => {
    for (const [list, index] of duplicatesIn(value))
      report('duplicate-entry', memberPath(memberPath(path, list), index), 'is defined twice');
  });
  const links = new Set(config.storage?.links?.map(({ path }) => path));
  for (const list of ['directories', 'files', 'links'] as const) {
    for (const [index, { path }] of (config.storage?.[list] ?? []).entries()) {
      const at = `storage.${list}[${index}]`;
      if (!path.startsWith('/')) report('path-relative', `${at}.path`, 'must be absolute');
      if (isBelow(links, path))
        report('path-through-link', at, 'goes through a link of this config');
    }
  }
  return found;
}

/** Each list entry whose key an earlier entry has. */
function duplicatesIn(value: JsonObject): readonly (readonly [list: string, index: number])[] {
  const seen = new Set<string>();
  return Object.entries(value).flatMap(([list, entries]) => {
    if (!Array.isArray(entries)) return [];
    const space = sharing.get(list)?.join() ?? list;
    return entries.flatMap((entry, index) => {
      const key = keyOf(list, entry);
      if (key === undefined) return [];
      const { size } = seen;
      return seen.add(`${space}:${key}`).size === size ? [[list, index] as const] : [];
    });
  });
}

/** Maximum length of a path in Linux (limits.h, PATH_MAX). */
const longestPath = 4096;

/** Whether a parent folder of the path is one of the links. */
const isBelow = (links: ReadonlySet<string>, path: string): boolean =>
  links.size > 0 &&
  [...path.slice(0, longestPath).matchAll(/\//g)].some(({ index }) =>
    links.has(path.slice(0, index)),
  );
