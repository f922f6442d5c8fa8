import { layeringFailure } from '../failures.ts';
import type { SourceObject } from './source-object.ts';
import { sourceFailure, type SourceFinding, wrongObject } from './source-text.ts';
import { fieldErrors, fieldErrorText, preparedObject } from './check-object.ts';
import { type Fields, fieldsOf, textOf, type Value, textsIn } from './schema.ts';

/** A MachineOSConfig that the cluster would take, with its defaults. */
export interface MachineOSConfig {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: MachineOSConfigSpec;
}

/** The spec of the object. */
export interface MachineOSConfigSpec {
  readonly machineConfigPool: Named;
  readonly imageBuilder: { readonly imageBuilderType: string };
  readonly baseImagePullSecret?: Named;
  readonly renderedImagePushSecret: Named;
  readonly renderedImagePushSpec: string;
  readonly containerFile?: readonly Containerfile[];
}

/** What the user adds, for one architecture or for all. */
export interface Containerfile {
  readonly containerfileArch: string;
  readonly content: string;
}

interface Named {
  readonly name: string;
}

/** The text that the operator's builder reads: that for no architecture; it ignores the others. */
export const userContainerfile = ({ spec }: MachineOSConfig): string =>
  spec.containerFile?.find(({ containerfileArch }) => containerfileArch === 'NoArch')?.content ??
  '';

/** A MachineOSConfig, as objects name their kind. */
export const machineOSConfigKind = {
  kind: 'MachineOSConfig',
  apiVersion: 'machineconfiguration.openshift.io/v1',
} as const;

/**
 * Reads a MachineOSConfig as the API server would: unknown fields are dropped, defaults set, rules
 * checked.
 * @throws AgentError `layering.wrong-object`, `layering.os-config-invalid` with the server's
 * message
 */
export function readMachineOSConfig(source: SourceObject): MachineOSConfig {
  const otherwise = kindFinding(source);
  if (otherwise !== undefined) throw sourceFailure(otherwise);
  const { value, place } = source;
  const faults = fieldErrors(value);
  const [first] = faults;
  if (first !== undefined) {
    const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
    throw layeringFailure(
      'layering.os-config-invalid',
      `${place(segmentsOf(first.path))}: ${fieldErrorText(first)}${more}`,
    );
  }
  return assumeMachineOSConfig(preparedObject(value));
}

/** The finding where an object is of another kind or version. */
export function kindFinding({ value, place }: SourceObject): SourceFinding | undefined {
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

function assumeMachineOSConfig({ metadata, spec }: Fields): MachineOSConfig {
  const { name, annotations } = fieldsOf(metadata);
  return {
    name: textOf(name),
    annotations: textsIn(annotations),
    spec: spec as unknown as MachineOSConfigSpec,
  };
}

/** `spec.containerFile[0].content` in its parts. The name stands for the whole object. */
export function segmentsOf(path: string): readonly (string | number)[] {
  if (path === '') return ['metadata', 'name'];
  return [...path.matchAll(/(?<index>\d{1,9})\]|(?<name>[^.[\]]+)/g)].map(({ groups }) =>
    groups?.['index'] === undefined ? (groups?.['name'] ?? '') : Number(groups['index']),
  );
}

/** What a MachineOSConfig needs and has no default for. */
export interface DefaultConfigRequest {
  readonly pool: string;
  /** Where the image is pushed to; its tag is replaced by the name of each build. */
  readonly pushSpec: string;
  /** Secret with the right to push, in `openshift-machine-config-operator`. */
  readonly pushSecret: string;
}

/**
 * The Containerfile of a layered pool without one of its own: the image is that of its
 * MachineConfig.
 */
export const defaultContainerfile = 'FROM configs AS final\nRUN ostree container commit\n';

/** A MachineOSConfig for a pool that has none, as an object for the API server. */
export const defaultMachineOSConfig = ({ pool, pushSpec, pushSecret }: DefaultConfigRequest) => ({
  apiVersion: machineOSConfigKind.apiVersion,
  kind: machineOSConfigKind.kind,
  metadata: { name: pool },
  spec: {
    machineConfigPool: { name: pool },
    imageBuilder: { imageBuilderType: 'Job' },
    renderedImagePushSecret: { name: pushSecret },
    renderedImagePushSpec: pushSpec,
    containerFile: [{ containerfileArch: 'NoArch', content: defaultContainerfile }],
  },
});
