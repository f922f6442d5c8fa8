import fc from '../support/properties.ts';
import * as schema from '../../src/ignition/schema.ts';
import type { ListShape, ObjectShape, ScalarShape, Shape } from '../../src/ignition/shape.ts';
import { NEWEST_MINOR, specVersion } from '../../src/ignition/version.ts';
import { fallback, type Pool, pools } from './pools.ts';

const configShape: ObjectShape = schema.configShape;

/** How a config is to be made up. */
interface Taste {
  readonly minor: number;
  /** One value in this many tends to break a rule; 0 for none. */
  readonly oneBrokenIn: number;
}

/** JSON of a config. */
type LooseConfig = Record<string, unknown>;

/** Configs of one spec, made up from the schema: every member of every shape occurs. */
export function configs(taste: Taste): fc.Arbitrary<LooseConfig> {
  const names = Object.keys(configShape.fields).filter((name) => name !== 'ignition');
  const parts = names
    .filter((name) => configShape.fields[name]!.since <= taste.minor)
    .map((name) => sectionOf(name, taste));
  return fc
    .tuple(
      fc.option(sectionOf('ignition', taste), { freq: 2, nil: {} }),
      fc.oneof(...parts),
      fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, ...parts),
    )
    .map(([general, one, other]) => withVersion({ ...general, ...one, ...other }, taste.minor));
}

/**
 * Two sound configs that have much in common: the same one or two members of the same section, and
 * entries with the same keys.
 */
export function configPairs(minors: readonly [number, number]): fc.Arbitrary<LooseConfig[]> {
  const oldest = Math.min(...minors);
  const sections = Object.entries(configShape.fields).filter(([, { since }]) => since <= oldest);
  return fc
    .constantFrom(...sections)
    .chain(([name, { shape }]) =>
      fc.tuple(fc.constant(name), focused(shape as ObjectShape, oldest)),
    )
    .chain(([name, shape]) => {
      const pair = minors.map((minor) => objectOf(shape, { minor, oneBrokenIn: 0 }));
      return fc.tuple(...pair).map(([parent, child]) => {
        const aligned = alignKeys(shape, parent as LooseConfig, child as LooseConfig);
        return [parent, aligned].map((section, index) =>
          withVersion({ [name]: section }, minors[index]!),
        );
      });
    });
}

/** The shape with only one or two of its members. */
function focused(shape: ObjectShape, minor: number): fc.Arbitrary<ObjectShape> {
  const names = Object.keys(shape.fields).filter(
    (name) => shape.fields[name]!.since <= minor && name !== 'version',
  );
  return fc.subarray(names, { minLength: 1, maxLength: Math.min(2, names.length) }).map((kept) => ({
    ...shape,
    fields: Object.fromEntries(kept.map((name) => [name, shape.fields[name]!])),
    sharedKeys: shape.sharedKeys.filter((name) => kept.includes(name)),
  }));
}

function sectionOf(name: string, taste: Taste): fc.Arbitrary<LooseConfig> {
  return fc.record({ [name]: valueOf(configShape.fields[name]!.shape, name, taste) });
}

function withVersion(config: LooseConfig, minor: number): LooseConfig {
  const { ignition = {} } = config as { ignition?: LooseConfig };
  return { ...config, ignition: { ...ignition, version: specVersion(minor) } };
}

function valueOf(shape: Shape, name: string, taste: Taste): fc.Arbitrary<unknown> {
  if (shape.kind === 'object') return objectOf(shape, taste);
  return shape.kind === 'list' ? listOf(shape, name, taste) : scalarOf(shape, name, taste);
}

function scalarOf(shape: ScalarShape, name: string, taste: Taste): fc.Arbitrary<unknown> {
  const pool: Pool = pools[name] ?? fallback[shape.kind];
  const sound = fc.constantFrom(...pool.sound);
  if (taste.oneBrokenIn === 0 || pool.broken === undefined) return sound;
  return fc.oneof(
    { weight: taste.oneBrokenIn - 1, arbitrary: sound },
    { weight: 1, arbitrary: fc.constantFrom(...pool.broken) },
  );
}

function listOf(shape: ListShape, name: string, taste: Taste): fc.Arbitrary<unknown> {
  const item = valueOf(shape.item, name, taste);
  const mayRepeat = shape.merges === 'concatenate';
  const unique = fc.uniqueArray(item, {
    maxLength: 3,
    selector: (entry) => (mayRepeat ? {} : shape.keyOf(entry as never)),
  });
  if (taste.oneBrokenIn === 0) return unique;
  const repeating = fc.array(item, { maxLength: 3 });
  return fc.oneof(
    { weight: taste.oneBrokenIn, arbitrary: unique },
    { weight: 1, arbitrary: repeating },
  );
}

function objectOf(shape: ObjectShape, taste: Taste): fc.Arbitrary<unknown> {
  const members: Record<string, fc.Arbitrary<unknown>> = {};
  const required: string[] = [];
  for (const [name, field] of Object.entries(shape.fields)) {
    if (field.since > taste.minor || name === 'version') continue;
    members[name] = valueOf(field.shape, `${shape.name}.${name}`, taste);
    const hasNoNull = field.alwaysUntil >= NEWEST_MINOR;
    if (hasNoNull || isNeeded(`${shape.name}.${name}`, taste)) required.push(name);
  }
  const object = fc.record(members, { requiredKeys: required });
  if (taste.oneBrokenIn > 0) return object;
  const repair = repairs[shape.name] ?? ((value) => value);
  return object.map((value) => repair(withoutSharedKeys(shape, value)));
}

/** Members that the schema lets be absent and that a valid object nearly always has. */
const neededMembers = new Set([
  'Reference.source',
  'Raid.devices',
  'Raid.level',
  'Luks.device',
  'Partition.label',
  'Tang.thumbprint',
  'Filesystem.format',
  'ClevisCustom.pin',
  'ClevisCustom.config',
]);

/** A sound resource needs a source for whatever else it says. */
function isNeeded(member: string, { minor, oneBrokenIn }: Taste): boolean {
  if (member === 'Link.target') return minor > 2;
  return neededMembers.has(member) || (oneBrokenIn === 0 && member === 'Resource.source');
}

function withoutSharedKeys(shape: ObjectShape, value: Record<string, unknown>): LooseConfig {
  const seen = new Set<string>();
  const result: LooseConfig = { ...value };
  for (const name of shape.sharedKeys) {
    const list = shape.fields[name]!.shape as ListShape;
    result[name] = ((value[name] ?? []) as never[]).filter((entry) => {
      const key = list.keyOf(entry);
      const isNew = !seen.has(key);
      seen.add(key);
      return isNew;
    });
  }
  return result;
}

/** The members that make up the key of an entry, by the name of its shape. */
const keyMembers: Readonly<Record<string, readonly string[]>> = {
  Directory: ['path'],
  Disk: ['device'],
  Dropin: ['name'],
  File: ['path'],
  Filesystem: ['device'],
  HttpHeader: ['name'],
  Link: ['path'],
  Luks: ['name'],
  Partition: ['number', 'label'],
  PasswdGroup: ['name'],
  PasswdUser: ['name'],
  Raid: ['name'],
  Reference: ['source'],
  Tang: ['url'],
  Unit: ['name'],
};

/** The child with the keys of the parent's entries, position by position, so that they will merge. */
function alignKeys(shape: ObjectShape, parent: LooseConfig, child: LooseConfig): LooseConfig {
  const aligned: LooseConfig = {};
  for (const [name, value] of Object.entries(child)) {
    const member = shape.fields[name];
    aligned[name] = member === undefined ? value : alignValue(member.shape, parent[name], value);
  }
  return aligned;
}

function alignValue(shape: Shape, parent: unknown, child: unknown): unknown {
  if (parent === undefined || child === undefined) return child;
  if (shape.kind === 'object') return alignKeys(shape, parent as LooseConfig, child as LooseConfig);
  if (shape.kind !== 'list' || shape.item.kind !== 'object') return child;
  const { item } = shape;
  return (child as LooseConfig[]).map((entry, index) => {
    const counterpart = (parent as LooseConfig[])[index];
    return counterpart === undefined ? entry : alignEntry(item, counterpart, entry);
  });
}

function alignEntry(shape: ObjectShape, parent: LooseConfig, child: LooseConfig): LooseConfig {
  const aligned = alignKeys(shape, parent, child);
  for (const name of keyMembers[shape.name] ?? []) {
    if (parent[name] === undefined) Reflect.deleteProperty(aligned, name);
    else aligned[name] = parent[name];
  }
  return aligned;
}

/** Without the members that do not go together with others. */
type Repair = (value: LooseConfig) => LooseConfig;

function without(value: LooseConfig, ...names: readonly string[]): LooseConfig {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}

const isFetched = ({ source }: LooseConfig): boolean => /^https?:/u.test(String(source));

/** What makes an object sound whose members are sound by themselves, by the name of its shape. */
const repairs: Readonly<Record<string, Repair>> = {
  Owner: (owner) => (owner['id'] === undefined ? owner : without(owner, 'name')),
  Clevis: (clevis) =>
    clevis['custom'] === undefined ? clevis : without(clevis, 'tang', 'threshold', 'tpm2'),
  Resource: (resource) => (isFetched(resource) ? resource : without(resource, 'httpHeaders')),
  Reference: (resource) => (isFetched(resource) ? resource : without(resource, 'httpHeaders')),
};
