import { parseMachineConfig } from '../../ignition/parse.ts';
import { validateConfig } from '../../ignition/validate.ts';
import { segmentsOf } from '../../layering/api/os-config.ts';
import { type Fields, fieldsOf, isFields, textOf, type Value } from '../../layering/api/schema.ts';
import type { Path, SourceObject } from '../../layering/api/source-object.ts';
import { lintObject } from '../../layering/build/lint.ts';
import { AgentError } from '../../model/failure.ts';

/** What is wrong at a place, `FILE:LINE:COLUMN`. */
export interface PlacedFinding {
  readonly place: string;
  readonly why: string;
  readonly isWarning?: true;
}

const operatorGroup = 'machineconfiguration.openshift.io';

/** What is wrong with an object of a kind that is known here; nothing for another one. */
export function knownKindFindings(source: SourceObject): readonly PlacedFinding[] {
  const { apiVersion, kind } = source.value;
  const [group = '', version] = textOf(apiVersion).split('/');
  if (group === operatorGroup && version !== undefined) {
    if (kind === 'MachineConfig') return machineConfigFindings(source);
    if (kind === 'MachineOSConfig') return osConfigFindings(source);
  }
  if (apiVersion !== 'v1') return [];
  if (kind === 'Secret')
    return [...textMembers(source, 'stringData'), ...encodedMembers(source, 'data')];
  if (kind === 'ConfigMap')
    return [...textMembers(source, 'data'), ...encodedMembers(source, 'binaryData')];
  return [];
}

const roleLabel = `${operatorGroup}/role`;

/** Its Ignition as the Machine Config Operator reads it, and the pool that it is for. */
function machineConfigFindings({ value, place }: SourceObject): readonly PlacedFinding[] {
  const { metadata, spec } = value;
  const role = fieldsOf(fieldsOf(metadata)['labels'])[roleLabel];
  const why = `no pool takes this MachineConfig: give it the label ${roleLabel}`;
  const unused: PlacedFinding = { place: place(['metadata', 'labels']), why, isWarning: true };
  const warnings = textOf(role) === '' ? [unused] : [];
  const config = fieldsOf(spec)['config'];
  if (config === undefined || config === null) return warnings;
  if (!isFields(config))
    return [{ place: place(['spec', 'config']), why: 'spec.config is no Ignition config' }];
  return [...warnings, ...ignitionFindings(config, (path) => place(['spec', 'config', ...path]))];
}

function ignitionFindings(config: Fields, place: (path: Path) => string): readonly PlacedFinding[] {
  try {
    const parsed = parseMachineConfig(JSON.stringify(config));
    return validateConfig(parsed.config)
      .filter(({ severity }) => severity === 'error')
      .map(({ path, message }) => ({ place: place(segmentsOfMember(path)), why: message }));
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const { path } = error.context;
    return [
      { place: place(typeof path === 'string' ? segmentsOfMember(path) : []), why: error.message },
    ];
  }
}

const segmentsOfMember = (path: string): Path => (path === '' ? [] : segmentsOf(path));

const osConfigFindings = (source: SourceObject): readonly PlacedFinding[] =>
  lintObject(source).map(({ place, message, severity }) => ({
    ...{ place, why: message },
    ...(severity === 'warning' ? { isWarning: true } : {}),
  }));

/** Words such as `on` and numbers are no texts, and the API server takes nothing else. */
export function textMembers(
  { value, place }: Pick<SourceObject, 'value' | 'place'>,
  member: string,
  above: readonly string[] = [],
): readonly PlacedFinding[] {
  return membersOf(value[member]).flatMap(([key, one]) => {
    if (typeof one === 'string' || one === null) return [];
    const why = `${[...above, member].join('.')} ${key} must be a text: write it in quotes`;
    return [{ place: place([member, key]), why }];
  });
}

/** Base64 as Go's decoder takes it: with its padding, and with line breaks. */
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function encodedMembers({ value, place }: SourceObject, member: string): readonly PlacedFinding[] {
  return membersOf(value[member]).flatMap(([key, one]) => {
    if (one === null) return [];
    if (typeof one === 'string' && base64.test(one.replace(/[\r\n]/g, ''))) return [];
    return [{ place: place([member, key]), why: `${member} ${key} must be base64` }];
  });
}

const membersOf = (value: Value | undefined): readonly (readonly [string, Value])[] =>
  Object.entries(fieldsOf(value));
