import { type Decoded, type DecodedObject, keyOfEntry } from './decode.ts';
import { type Finding, refuseErrors } from './finding.ts';
import { parseValidConfig, renderConfig } from './parse.ts';
import { configShape } from './schema.ts';
import type { ListShape, ObjectShape } from './shape.ts';
import type { Config, Ignition } from './types.ts';
import { validateConfig } from './validate.ts';
import { readSpecVersion, type SpecMinor, specVersion } from './version.ts';

/**
 * Merges a child config over its parent by the rules of Ignition (`config/merge`). A value of the
 * child replaces that of the parent, objects merge member by member, lists by the key of their
 * entries with the parent's order first. The result has the higher spec version of the two. Two
 * valid configs can merge to an invalid one, so validate the result.
 *
 * @throws AgentError `ignition.no-version` and the like, for a version that is not known
 */
export function mergeConfigs(parent: Config, child: Config): Config {
  const minors = [parent, child].map(({ ignition }) => readSpecVersion(ignition.version));
  const minor = Math.max(...minors);
  const merged = mergeObjects(configShape, translateUp(parent, minor), translateUp(child, minor));
  return merged as unknown as Config;
}

/** The same config in a newer spec. Spec 3.x has only added keys, so only the version changes. */
export function translateUp(config: Config, minor: SpecMinor): Config {
  return { ...config, ignition: { ...config.ignition, version: specVersion(minor) } };
}

function mergeObjects(
  shape: ObjectShape,
  parent: DecodedObject,
  child: DecodedObject,
): DecodedObject {
  const merged: Record<string, Decoded> = {};
  const childKeys = indexEntries(shape, child);
  for (const [name, field] of Object.entries(shape.fields)) {
    const ours = parent[name];
    const theirs = child[name];
    if (field.shape.kind === 'list') {
      const entries = mergeLists(name, field.shape, { parent: ours, child: theirs, childKeys });
      if (entries !== undefined) merged[name] = entries;
    } else if (theirs === undefined) {
      if (ours !== undefined) merged[name] = ours;
    } else if (ours === undefined || field.shape.kind !== 'object') {
      merged[name] = theirs;
    } else {
      merged[name] = mergeObjects(field.shape, ours as DecodedObject, theirs as DecodedObject);
    }
  }
  return merged;
}

/** The place of an entry in the child. */
interface ChildEntry {
  readonly list: string;
  readonly entry: Decoded;
}

/** Entries of the child by the name of their key space and their key. */
type ChildKeys = ReadonlyMap<string, ReadonlyMap<string, ChildEntry>>;

function indexEntries(shape: ObjectShape, child: DecodedObject): ChildKeys {
  const shared = new Map<string, ChildEntry>();
  const spaces = new Map<string, Map<string, ChildEntry>>();
  for (const [name, field] of Object.entries(shape.fields)) {
    const list = field.shape;
    if (list.kind !== 'list' || list.merges !== 'by-key') continue;
    const space = shape.sharedKeys.includes(name) ? shared : new Map<string, ChildEntry>();
    spaces.set(name, space);
    for (const entry of entriesOf(child[name])) {
      space.set(keyOfEntry(list, entry), { list: name, entry });
    }
  }
  return spaces;
}

const entriesOf = (list: Decoded | undefined): readonly Decoded[] =>
  (list ?? []) as readonly Decoded[];

interface ListPair {
  readonly parent: Decoded | undefined;
  readonly child: Decoded | undefined;
  readonly childKeys: ChildKeys;
}

function mergeLists(name: string, shape: ListShape, pair: ListPair): Decoded[] | undefined {
  if (pair.parent === undefined && pair.child === undefined) return undefined;
  const parent = entriesOf(pair.parent);
  const child = entriesOf(pair.child);
  if (shape.merges === 'concatenate') return [...parent, ...child];
  const space = pair.childKeys.get(name);
  const kept = parent.flatMap((entry) => {
    const match = space?.get(keyOfEntry(shape, entry));
    if (match === undefined) return [entry];
    // An entry of another list with the same key takes this one's place; it is added over there.
    return match.list === name ? mergeEntries(shape, entry, match.entry) : [];
  });
  const parentKeys = new Set(parent.map((entry) => keyOfEntry(shape, entry)));
  const added = child.filter((entry) => !parentKeys.has(keyOfEntry(shape, entry)));
  return [...kept, ...added];
}

function mergeEntries(shape: ListShape, parent: Decoded, child: Decoded): Decoded[] {
  if (shape.item.kind !== 'object') return [child];
  const override = child as DecodedObject;
  const { removesWithout } = shape;
  if (removesWithout !== undefined && override[removesWithout] === undefined) return [];
  return [mergeObjects(shape.item, parent as DecodedObject, override)];
}

/** The two configs of a single node. */
interface SingleNodeInput {
  /** `master.ign`, rendered on the node itself. */
  readonly master: Uint8Array | string;
  /** The config of this host from the inventory service: a pointer and the host's overrides. */
  readonly host: Uint8Array | string;
}

/** What the node boots with. */
interface SingleNodeConfig {
  readonly config: Config;
  /** Compact JSON, without the members that the spec does not know. */
  readonly json: string;
  readonly warnings: readonly Finding[];
}

/**
 * Merges a host's overrides into the `master.ign` of a single-node cluster. There is no Machine
 * Config Server to point to, so the host's pointer (`ignition.config`) is dropped. Any two specs
 * from 3.0 to 3.5 will do; the result has the higher one.
 *
 * @throws AgentError as `parseConfig`, and `ignition.merge-invalid` for a result that breaks a rule
 */
export function mergeSingleNode({ master, host }: SingleNodeInput): SingleNodeConfig {
  const base = parseValidConfig(master);
  const overrides = parseValidConfig(host);
  const merged = mergeConfigs(base.config, withoutPointer(overrides.config));
  const findings = refuseErrors(validateConfig(merged), 'ignition.merge-invalid');
  return {
    config: merged,
    json: renderConfig(merged),
    warnings: [...base.warnings, ...overrides.warnings, ...findings],
  };
}

function withoutPointer(config: Config): Config {
  const members = Object.entries(config.ignition).filter(([name]) => name !== 'config');
  // Only an optional member was taken out.
  return { ...config, ignition: Object.fromEntries(members) as unknown as Ignition };
}
