import * as z from 'zod';
import { nearestName } from '../../lib/nearest.ts';
import { layeringFailure } from '../failures.ts';
import {
  type SourceObject,
  type LintFinding,
  type Path,
  sourceFailure,
  type SourceFinding,
  wrongObject,
} from './source-object.ts';
import { fieldsOf, isFields, isList, textsIn, type Value } from '../../lib/fields.ts';
import { Annotations, isPushSpec, isSubdomain, Labels } from './schema.ts';

const Name = z
  .string()
  .refine(isSubdomain, 'a name of lower-case letters, digits, - and . is expected');
const Named = z.strictObject({ name: Name });
const archs = ['ARM64', 'AMD64', 'PPC64LE', 'S390X', 'NoArch'] as const;

/** Instructions of the user, for one architecture or for all. */
const Containerfile = z.strictObject({
  containerfileArch: z.enum(archs).default('NoArch'),
  content: z.string().max(4096),
});

/** The validation rules of the CRD (openshift/api, machineconfiguration/v1, features Default). */
const Spec = z.strictObject({
  machineConfigPool: Named,
  imageBuilder: z.strictObject({ imageBuilderType: z.literal('Job') }),
  baseImagePullSecret: Named.optional(),
  renderedImagePushSecret: Named,
  renderedImagePushSpec: z
    .string()
    .max(447)
    .refine(isPushSpec, 'write HOST.DOMAIN[:PORT]/NAMESPACE/NAME:TAG'),
  containerFile: z
    .array(Containerfile)
    .max(archs.length - 1)
    .refine(
      (files) => new Set(files.map((file) => file.containerfileArch)).size === files.length,
      'two entries are for one architecture: keep one, for NoArch',
    )
    .optional(),
});

/** The cluster owns `status` and the other members of `metadata`. */
const Schema = z
  .strictObject({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: z.looseObject({ name: Name, labels: Labels, annotations: Annotations }),
    spec: Spec,
    status: z.unknown().optional(),
  })
  .refine(({ metadata, spec }) => metadata.name === spec.machineConfigPool.name, {
    path: ['metadata', 'name'],
    message: 'it must match spec.machineConfigPool.name: write the name of the pool in both',
  });

/** A MachineOSConfig that the cluster accepts, with its defaults. */
export interface MachineOSConfig {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: MachineOSConfigSpec;
}

/** The spec of the object. */
export type MachineOSConfigSpec = z.infer<typeof Spec>;

/**
 * The text that the operator's builder uses: the entry without an architecture; it ignores the
 * others.
 */
export const userContainerfile = ({ spec }: MachineOSConfig): string =>
  spec.containerFile?.find(({ containerfileArch }) => containerfileArch === 'NoArch')?.content ??
  '';

/** apiVersion and kind of a MachineOSConfig. */
export const machineOSConfigKind = {
  kind: 'MachineOSConfig',
  apiVersion: 'machineconfiguration.openshift.io/v1',
} as const;

/**
 * Reads a MachineOSConfig strictly; defaults are set.
 * @throws AgentError `layering.wrong-object`, `layering.os-config-invalid` with every mistake
 */
export function readMachineOSConfig(source: SourceObject): MachineOSConfig {
  const otherwise = kindFinding(source);
  if (otherwise !== undefined) throw sourceFailure(otherwise);
  const read = checkedOSConfig(source);
  if (!Array.isArray(read)) return read;
  const lines = read.map(({ place, message }) => `${place}: ${message}`);
  throw layeringFailure('layering.os-config-invalid', lines.join('; '));
}

/** A valid MachineOSConfig, or all of its mistakes. */
export function checkedOSConfig({ value, place }: SourceObject): MachineOSConfig | LintFinding[] {
  const read = Schema.safeParse(withoutNulls(value), {
    error: ({ input }) => (input === undefined ? 'it is missing' : undefined),
  });
  if (read.success) {
    const { metadata, spec } = read.data;
    return { name: metadata.name, annotations: textsIn(metadata.annotations), spec };
  }
  return read.error.issues.flatMap((issue) => {
    const at = issue.path.filter((part) => typeof part !== 'symbol');
    const finding = (path: Path, message: string): LintFinding => ({
      place: place(path),
      severity: 'error',
      message: `${pathText(path)}: ${message}`,
    });
    if (issue.code !== 'unrecognized_keys') return [finding(at, issue.message)];
    return issue.keys.map((key) => finding([...at, key], `unknown field${meant(key)}`));
  });
}

const pathText = (path: Path): string =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .slice(1);

function meant(key: string): string {
  const names = [Schema, Spec, Containerfile, Named].flatMap(({ shape }) => Object.keys(shape));
  const near = nearestName(key, names);
  return near === undefined ? '' : `: did you mean ${near}?`;
}

/** The API server drops a null. */
const withoutNulls = (value: Value): Value => {
  if (isList(value)) return value.map(withoutNulls);
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([key, member]) => [key, withoutNulls(member)]),
  );
};

/**
 * The requested values in the spec of a MachineOSConfig, with the defaults that the cluster adds;
 * for comparison.
 */
export function askedOf(spec: Value | undefined): readonly unknown[] {
  const { containerFile, imageBuilder, renderedImagePushSpec, ...named } = fieldsOf(spec);
  const files = isList(containerFile) ? containerFile.map(fieldsOf) : [];
  return [
    renderedImagePushSpec,
    fieldsOf(imageBuilder)['imageBuilderType'],
    ...['machineConfigPool', 'baseImagePullSecret', 'renderedImagePushSecret'].map(
      (key) => fieldsOf(named[key])['name'],
    ),
    ...files.map(({ containerfileArch, content }) => [containerfileArch ?? 'NoArch', content]),
  ];
}

/** A finding about an object of another kind or version; undefined for a MachineOSConfig. */
export function kindFinding({ value, place }: SourceObject): SourceFinding | undefined {
  const { kind, apiVersion } = value;
  const isKind = kind === machineOSConfigKind.kind;
  if (isKind && apiVersion === machineOSConfigKind.apiVersion) return undefined;
  const [member, found] = isKind ? ['apiVersion', apiVersion] : ['kind', kind];
  const word = typeof found === 'string' ? found : `something without ${member}`;
  return wrongObject(
    place([member]),
    `a ${machineOSConfigKind.kind} of ${machineOSConfigKind.apiVersion} is expected, and not ${word}`,
  );
}

/**
 * The segments of a path such as `spec.containerFile[0].content`. The name of the kind means the
 * whole object.
 */
export function segmentsOf(path: string): Path {
  if (path === '') return ['metadata', 'name'];
  return [...path.matchAll(/(?<index>\d{1,9})\]|(?<name>[^.[\]]+)/g)].map(({ groups }) =>
    groups?.['index'] === undefined ? (groups?.['name'] ?? '') : Number(groups['index']),
  );
}

/**
 * The Containerfile of a layered pool without its own: the image contains only its MachineConfig.
 */
export const defaultContainerfile = 'FROM configs AS final\nRUN ostree container commit\n';

/**
 * A MachineOSConfig for a pool without one, as an object for the API server.
 * @param pushSpec repository that the image is pushed to; the name of each build replaces its tag
 * @param pushSecret Secret with the right to push, in `openshift-machine-config-operator`
 */
export const defaultMachineOSConfig = (pool: string, pushSpec: string, pushSecret: string) => ({
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
