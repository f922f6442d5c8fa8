import type { ObjectShape, Shape } from '../../src/ignition/shape.ts';
import type { LooseConfig } from './arbitrary.ts';

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
export function alignKeys(
  shape: ObjectShape,
  parent: LooseConfig,
  child: LooseConfig,
): LooseConfig {
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
