import { stringify } from 'yaml';
import { isMembers, type Members, type Value } from '../schema/schema.ts';

/** Members of an Ignition config that say what a part is, and hold nothing of its content. */
const telling = new Set(['version', 'path', 'name', 'target', 'device', 'label', 'format']);

/** Whether a MachineConfig, or a file of one, is called as the rendered ones are. */
export const isRendered = (name: string): boolean => name.startsWith('rendered-');

/**
 * A rendered MachineConfig as people may see it: names, paths, modes and sizes of all that its Ignition brings,
 * and none of the content, among which are the pull secret and keys of the cluster.
 */
export function machineConfigShape({ apiVersion, kind, metadata, spec }: Members): string {
  const { config, ...rest } = isMembers(spec) ? spec : {};
  const shaped = config === undefined ? {} : { config: shapeOf(config) };
  return stringify({ apiVersion, kind, metadata, spec: { ...rest, ...shaped } }, { lineWidth: 0 });
}

function shapeOf(value: Value, name = ''): Value {
  if (Array.isArray(value)) return (value as readonly Value[]).map((item) => shapeOf(item));
  if (isMembers(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, shapeOf(member, key)]),
    );
  }
  if (typeof value !== 'string' || telling.has(name)) return value;
  return `(${value.length} characters)`;
}
