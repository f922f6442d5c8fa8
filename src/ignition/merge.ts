import { ignitionFailure } from './failures.ts';
import { isFields } from '../lib/fields.ts';
import { type JsonObject, memberOf } from './json.ts';
import { parseValidConfig } from './parse.ts';
import type { Config } from './types.ts';
import { keyOf, refuseFindings, sharing, validateConfig } from './validate.ts';

/** Minor of the newest spec whose lists are known, 3.5.0 (Ignition 2.20). */
const NEWEST_MINOR = 5;

/**
 * Merges a child config over its parent by the rules of Ignition (`config/merge`). A value of the
 * child replaces the value of the parent, objects merge member by member, and lists merge by the
 * key of their entries, in the parent's order. The result has the higher spec version of the two:
 * spec 3 has only added members.
 *
 * @throws AgentError `ignition.version-unsupported` for a spec newer than 3.5.0,
 * `ignition.merge-invalid` for a result that violates a rule
 */
export function mergeConfigs(parent: Config, child: Config): Config {
  const minors = [parent, child].map(({ ignition: { version } }) => {
    const minor = Number(version.split('.')[1]);
    if (minor <= NEWEST_MINOR) return minor;
    const what = 'ignition config to merge is of a newer spec';
    throw ignitionFailure('ignition.version-unsupported', what, { context: { version } });
  });
  const merged = mergeObjects(parent, child) as unknown as Config;
  const version = `3.${Math.max(...minors)}.0`;
  const config = { ...merged, ignition: { ...merged.ignition, version } };
  refuseFindings(validateConfig(config), 'ignition.merge-invalid');
  return config;
}

function mergeObjects(parent: JsonObject, child: JsonObject): JsonObject {
  const names = [...new Set([...Object.keys(parent), ...Object.keys(child)])];
  return Object.fromEntries(
    names.map((name) => {
      const [ours, theirs] = [memberOf(parent, name), memberOf(child, name)];
      if (Array.isArray(ours ?? theirs)) return [name, mergeLists(name, parent, child)];
      const isBoth = isFields(ours) && isFields(theirs);
      return [name, isBoth ? mergeObjects(ours, theirs) : (theirs ?? ours)];
    }),
  );
}

function mergeLists(name: string, parent: JsonObject, child: JsonObject): readonly unknown[] {
  const [ours, theirs] = [listIn(parent, name), listIn(child, name)];
  const children = new Map(theirs.map((entry) => [keyOf(name, entry), entry]));
  // An entry of another list with the same key replaces this one.
  const others = new Set(
    (sharing.get(name) ?? [])
      .filter((other) => other !== name)
      .flatMap((other) => listIn(child, other).map((entry) => keyOf(other, entry))),
  );
  const kept = ours.flatMap((entry) => {
    const key = keyOf(name, entry);
    if (others.has(key)) return [];
    const over = key === undefined ? undefined : children.get(key);
    if (!isFields(over) || !isFields(entry)) return [entry];
    // A header without a value removes the header of the parent.
    const isRemoved = name === 'httpHeaders' && over['value'] === undefined;
    return isRemoved ? [] : [mergeObjects(entry, over)];
  });
  const known = new Set(ours.map((entry) => keyOf(name, entry)));
  const isNew = (key: string | undefined): boolean => key === undefined || !known.has(key);
  return [...kept, ...theirs.filter((entry) => isNew(keyOf(name, entry)))];
}

const listIn = (value: JsonObject, name: string): readonly unknown[] => {
  const list = memberOf(value, name);
  return Array.isArray(list) ? (list as readonly unknown[]) : [];
};

/**
 * Merges the overrides of a host into the `master.ign` of a single-node cluster, which the node
 * itself rendered. Such a cluster has no Machine Config Server to point to, so the merge drops the
 * host's pointer (`ignition.config`).
 *
 * @throws AgentError as `parseConfig` and {@link mergeConfigs}
 */
export function mergeSingleNode(master: Uint8Array | string, host: Uint8Array | string): Config {
  const { ignition, ...overrides } = parseValidConfig(host);
  const { config: _, ...rest } = ignition;
  return mergeConfigs(parseValidConfig(master), { ...overrides, ignition: rest });
}
