import { createHash } from 'node:crypto';
import { decodeResource } from '../../ignition/resource.ts';
import { AgentError } from '../../model/failure.ts';
import { type Fields, fieldsOf, isFields, isList, textOf, type Value } from '../../lib/fields.ts';

/**
 * The spec of a rendered MachineConfig in a normal form: two specs with the same effect on a
 * machine are deeply equal. Empty members and members with the default are removed, named entries
 * are sorted, and content is compared decoded. The defaults are those of Ignition 3.5 and, for
 * files, of the Machine Config Operator, which also writes a file without `overwrite`
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
 * An Ignition config in the normal form, without the version of its spec: a newer version adds
 * members and changes none.
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

/** Members whose `false` differs from their absence. */
const falseCounts: ReadonlySet<string> = new Set(['enabled', 'overwrite', 'shouldExist']);

/**
 * An object without empty members, at any depth. An empty source stays: it is empty content. Lists
 * keep their entries.
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

/** An object with changes to those of its members that exist. */
function mapped(value: Value | undefined, changes: Readonly<Record<string, Change>>): Fields {
  const fields = fieldsOf(value);
  const changed = Object.entries(changes).flatMap(([key, change]) => {
    const member = fields[key];
    return member === undefined ? [] : [[key, change(member)] as const];
  });
  return { ...fields, ...Object.fromEntries(changed) };
}

/** A list whose entries are identified by a name, and whose order has no meaning. */
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

/** A file system node; its default owner is root, and it does not overwrite by default. */
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
  // A file with `append` alone keeps its content; any other file without content is empty.
  const isKept = contents === undefined && added.length > 0;
  return {
    ...owned(others, 0o644),
    ...(overwrite === false ? { overwrite } : {}),
    ...(isKept ? {} : { contents: meantContent(contents ?? {}) }),
    append: added.map(meantContent),
  };
}

/** Content as its checksum; content that has to be fetched, as its source. */
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
