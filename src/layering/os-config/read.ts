import { layeringFailure } from '../failures.ts';
import { checkObject, preparedObject } from '../schema/check-object.ts';
import { faultText } from '../schema/fault.ts';
import { isMembers, type Members, type Value } from '../schema/schema.ts';
import { flawFailure, type SourceFlaw, wrongObject } from '../source-flaw.ts';
import type { SourceObject } from '../source-object.ts';
import { machineOSConfigKind } from './schema.ts';
import type { MachineOSConfig, MachineOSConfigSpec } from './types.ts';

/**
 * Reads a MachineOSConfig as the API server would: unknown members are dropped, defaults put in, rules asked.
 * @throws AgentError `layering.wrong-object`, `layering.os-config-invalid` with the server's message
 */
export function readMachineOSConfig(source: SourceObject): MachineOSConfig {
  requireMachineOSConfig(source);
  const { value, place } = source;
  const faults = checkObject(value, machineOSConfigKind);
  const [first] = faults;
  if (first !== undefined) {
    const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
    throw layeringFailure(
      'layering.os-config-invalid',
      `${place(segmentsOf(first.path))}: ${faultText(first)}${more}`,
    );
  }
  return assumeMachineOSConfig(preparedObject(value, machineOSConfigKind));
}

/**
 * Refuses what says that it is something else.
 * @throws AgentError `layering.wrong-object`
 */
export function requireMachineOSConfig(source: SourceObject): void {
  const otherwise = kindFlaw(source);
  if (otherwise !== undefined) throw flawFailure(otherwise);
}

/** What is wrong where an object says that it is something else. */
export function kindFlaw({ value, place }: SourceObject): SourceFlaw | undefined {
  const { kind, apiVersion } = value;
  const isKind = kind === machineOSConfigKind.kind;
  if (isKind && apiVersion === machineOSConfigKind.apiVersion) return undefined;
  const found = isKind ? apiVersion : kind;
  return wrongObject(
    place([isKind ? 'apiVersion' : 'kind']),
    `a ${machineOSConfigKind.kind} of ${machineOSConfigKind.apiVersion} is expected, and not ${wordFor(found, isKind ? 'apiVersion' : 'kind')}`,
  );
}

const wordFor = (word: Value | undefined, member: string): string =>
  typeof word === 'string' ? word : `something without ${member}`;

/** A checked object by its type. */
function assumeMachineOSConfig({ metadata, spec }: Members): MachineOSConfig {
  const { name, annotations } = isMembers(metadata) ? metadata : {};
  const texts = Object.entries(isMembers(annotations) ? annotations : {}).flatMap(([key, value]) =>
    typeof value === 'string' ? [[key, value] as const] : [],
  );
  return {
    name: typeof name === 'string' ? name : '',
    annotations: Object.fromEntries(texts),
    spec: spec as unknown as MachineOSConfigSpec,
  };
}

/** `spec.containerFile[0].content` in its parts. The name stands for the whole object. */
export function segmentsOf(path: string): readonly (string | number)[] {
  if (path === '') return ['metadata', 'name'];
  return [...path.matchAll(/(?<index>\d+)\]|(?<name>[^.[\]]+)/g)].map(({ groups }) =>
    groups?.['index'] === undefined ? (groups?.['name'] ?? '') : Number(groups['index']),
  );
}
