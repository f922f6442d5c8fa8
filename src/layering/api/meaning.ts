import { createHash } from 'node:crypto';
import { decodeResource } from '../../ignition/resource.ts';
import { AgentError } from '../../model/failure.ts';
import { type Fields, fieldsOf, isFields, isList, textOf, type Value } from '../../lib/fields.ts';

/**
 * What the spec of a rendered MachineConfig means, however it is written: two that do the same to a
 * machine are deeply equal. Members that say nothing and those that say the default are left out,
 * named parts are in order, and content is compared decoded. The defaults are those of Ignition 3.5
 * and, for files, of the Machine Config Operator, which writes a file without `overwrite` too
 * (`MergeMachineConfigs`).
 */
export function meantSpec(spec: Fields): Fields {
  const { config, kernelType, ...others } = stated(spec);
  return {
    ...others,
    ...stated({
      kernelType: kernelType === 'default' ? '' : (kernelType ?? ''),
      config: meantIgnition(config),
    }),
  };
}

/**
 * What an Ignition config means. The version of its spec is none of it: a newer one adds members,
 * and changes none.
 */
export function meantIgnition(config: Value | undefined): Fields {
  const { ignition, passwd, storage, systemd, ...others } = stated(fieldsOf(config));
  return {
    ...others,
    ...stated({
      ignition: { ...fieldsOf(ignition), version: '' },
      passwd: mapped(passwd, { users: byName('name', existing), groups: byName('name', existing) }),
      storage: mapped(storage, {
        files: byName('path', meantFile),
        directories: byName('path', (one) => owned(one, 0o755)),
        links: byName('path', owned),
      }),
      systemd: mapped(systemd, {
        units: byName('name', (unit) => mapped(unit, { dropins: byName('name', (one) => one) })),
      }),
    }),
  };
}

/** Members whose `false` says something: there it is not what holds without them. */
const falseCounts: ReadonlySet<string> = new Set(['enabled', 'overwrite', 'shouldExist']);

/**
 * An object without the members that say nothing, at any depth: an empty source is empty content.
 * Lists keep their entries.
 */
const stated = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields)
      .map(([key, value]) => [key, statedValue(value)] as const)
      .filter(([key, value]) => !isEmpty(value) || (key === 'source' && value === ''))
      .filter(([key, value]) => value !== false || falseCounts.has(key)),
  );

function statedValue(value: Value): Value {
  if (isList(value)) return value.map(statedValue);
  return isFields(value) ? stated(value) : value;
}

const isEmpty = (value: Value): boolean =>
  value === null ||
  value === '' ||
  (isList(value) && value.length === 0) ||
  (isFields(value) && Object.keys(value).length === 0);

type Change = (value: Value) => Value;

/** An object with some of its members changed, where they are there. */
function mapped(value: Value | undefined, changes: Readonly<Record<string, Change>>): Fields {
  const fields = fieldsOf(value);
  const changed = Object.entries(changes).flatMap(([key, change]) => {
    const member = fields[key];
    return member === undefined ? [] : [[key, change(member)] as const];
  });
  return { ...fields, ...Object.fromEntries(changed) };
}

/** A list whose entries are told by a name, and have no order among them. */
const byName =
  (key: string, change: (entry: Fields) => Fields): Change =>
  (value) => {
    if (!isList(value)) return value;
    const nameOf = (entry: Fields): string => textOf(entry[key]);
    return value
      .map((entry) => stated(change(fieldsOf(entry))))
      .sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
  };

const existing = ({ shouldExist, ...account }: Fields): Fields =>
  shouldExist === false ? { ...account, shouldExist } : account;

/** A node of a file system; it is root's unless it says otherwise, and takes no other's place. */
function owned(node: Fields, usualMode?: number): Fields {
  const { mode, overwrite, user, group, ...others } = node;
  return {
    ...others,
    ...(mode === undefined || mode === usualMode ? {} : { mode }),
    ...(overwrite === true ? { overwrite } : {}),
    user: owner(user),
    group: owner(group),
  };
}

function owner(value: Value | undefined): Value {
  const { id = 0, name = 'root' } = fieldsOf(value);
  return id === 0 && name === 'root' ? null : (value ?? null);
}

function meantFile(file: Fields): Fields {
  const { contents, append, overwrite, ...others } = file;
  const added = isList(append) ? append : [];
  // A file that is only appended to keeps what it has; any other without content is empty.
  const isKept = contents === undefined && added.length > 0;
  return {
    ...owned(others, 0o644),
    ...(overwrite === false ? { overwrite } : {}),
    ...(isKept ? {} : { contents: meantContent(contents ?? {}) }),
    append: added.map(meantContent),
  };
}

/** What content is, by its sum; of one that has to be fetched, where it is. */
function meantContent(resource: Value): Value {
  const { source, compression, verification } = fieldsOf(resource);
  const hash = textOf(fieldsOf(verification)['hash']);
  try {
    const content = decodeResource({
      source: textOf(source),
      compression: textOf(compression),
      ...(hash === '' ? {} : { verification: { hash } }),
    });
    return createHash('sha256').update(content).digest('hex');
  } catch (error) {
    if (error instanceof AgentError) return resource;
    throw error;
  }
}
