import { addressReadFrom, addressRule } from '../../lib/address.ts';
import { isNamedReference, withDigest } from '../../lib/image-name.ts';
import { layeringFailure } from '../failures.ts';
import {
  checkedOSConfig,
  kindFinding,
  type MachineOSConfig,
  readMachineOSConfig,
  segmentsOf,
} from './os-config.ts';
import { isFields } from '../../lib/fields.ts';
import { isLabelValue, isPullSpec } from './schema.ts';
import type { SourceObject, LintFinding } from './source-object.ts';
import { jsonIn } from '../../lib/json.ts';

/** A reason why the operator cannot use a MachineOSConfig that the API server accepts. */
export interface OSConfigFinding {
  readonly path: string;
  readonly message: string;
}

const SOME_DIGEST = `sha256:${'0'.repeat(64)}`;
const HASH_LENGTH = 32;

/** The findings of an object that should be a MachineOSConfig. */
export function lintOSConfig(source: SourceObject): readonly LintFinding[] {
  const otherwise = kindFinding(source);
  if (otherwise !== undefined) return [otherwise];
  const read = checkedOSConfig(source);
  if (Array.isArray(read)) return read;
  return osConfigFindings(read).map(({ path, message }) => ({
    place: source.place(segmentsOf(path)),
    severity: 'error',
    message: `${path}: ${message}`,
  }));
}

/**
 * Reads a MachineOSConfig for the build of its image.
 * @throws AgentError `layering.wrong-object`, `layering.os-config-invalid` with all mistakes and
 * their lines
 */
export function buildableOSConfig(source: SourceObject): MachineOSConfig {
  const config = readMachineOSConfig(source);
  refuseFindings(source, osConfigFindings(config));
  return config;
}

/** @throws AgentError `layering.os-config-invalid` with all findings and their lines */
export function refuseFindings(
  { place }: SourceObject,
  findings: readonly OSConfigFinding[],
): void {
  if (findings.length === 0) return;
  const lines = findings.map(
    ({ path, message }) => `${place(segmentsOf(path))}: ${path}: ${message}`,
  );
  throw layeringFailure('layering.os-config-invalid', lines.join('; '));
}

/**
 * Findings about fields that the operator rejects, at once or only after a build, while the API
 * server accepts them. Sources: `pkg/controller/build` of the Machine Config Operator, and the
 * validation rules of the status at the end of a build.
 */
export function osConfigFindings({ name, spec }: MachineOSConfig): readonly OSConfigFinding[] {
  const pushSpec = spec.renderedImagePushSpec;
  const rendered = `rendered-${name}-${'0'.repeat(HASH_LENGTH)}`;
  const findings: OSConfigFinding[] = [];
  if (!isNamedReference(pushSpec)) {
    const what = `the operator cannot read ${pushSpec} as the name of an image`;
    const message = `${what}: write HOST/NAMESPACE/NAME:TAG in lower case`;
    findings.push({ path: 'spec.renderedImagePushSpec', message });
  }
  const url = `https://${pushSpec}`;
  if (!URL.canParse(url) || addressReadFrom(url) !== undefined) {
    const message = `${pushSpec}: the port is above 65535, or the address is not ${addressRule}`;
    findings.push({ path: 'spec.renderedImagePushSpec', message });
  }
  if (!isPullSpec(withDigest(pushSpec, SOME_DIGEST))) {
    const what = 'the image could not be used after the build: status.currentImagePullSpec takes';
    const message = `${what} HOST/NAMESPACE/NAME with at most one namespace; shorten ${pushSpec}`;
    findings.push({ path: 'spec.renderedImagePushSpec', message });
  }
  if (!isLabelValue(rendered)) {
    const what = `the name of a build's MachineConfig, ${rendered}, is longer than a label may be`;
    const most = 63 - rendered.length + name.length;
    const message = `${what}: give the pool a name of at most ${most} characters`;
    findings.push({ path: 'metadata.name', message });
  }
  for (const [index, { containerfileArch }] of (spec.containerFile ?? []).entries()) {
    if (containerfileArch === 'NoArch') continue;
    const what = 'the builder reads only the entry for NoArch and ignores the one for';
    const message = `${what} ${containerfileArch}: write NoArch`;
    findings.push({ path: `spec.containerFile[${index}].containerfileArch`, message });
  }
  return findings;
}

/** The fields of a Secret that layering uses. */
export interface RegistrySecret {
  readonly name: string;
  readonly type: string;
  /** Content by key, decoded. */
  readonly data: Readonly<Record<string, string>>;
}

/**
 * Findings about the objects that a MachineOSConfig refers to, by the rules of the operator.
 * Content is never quoted.
 * @param secrets the Secrets of the namespace `openshift-machine-config-operator`
 */
export function referenceFindings(
  { spec }: MachineOSConfig,
  {
    pools,
    secrets,
  }: { readonly pools: readonly string[]; readonly secrets: readonly RegistrySecret[] },
): readonly OSConfigFinding[] {
  const pool = spec.machineConfigPool.name;
  const findings: OSConfigFinding[] = [];
  if (!pools.includes(pool)) {
    const message = `there is no MachineConfigPool ${pool}`;
    findings.push({ path: 'spec.machineConfigPool.name', message });
  }
  for (const key of ['baseImagePullSecret', 'renderedImagePushSecret'] as const) {
    const name = spec[key]?.name;
    const message =
      name === undefined
        ? undefined
        : secretProblem(
            name,
            secrets.find((one) => one.name === name),
          );
    if (message !== undefined) findings.push({ path: `spec.${key}.name`, message });
  }
  return findings;
}

const KEY_OF_TYPE: Readonly<Record<string, string>> = {
  'kubernetes.io/dockerconfigjson': '.dockerconfigjson',
  'kubernetes.io/dockercfg': '.dockercfg',
};

function secretProblem(name: string, secret: RegistrySecret | undefined): string | undefined {
  if (secret === undefined)
    return `there is no Secret ${name} in openshift-machine-config-operator`;
  const key = KEY_OF_TYPE[secret.type];
  if (key === undefined) {
    return `Secret ${name} is of type ${secret.type}: create one of type kubernetes.io/dockerconfigjson`;
  }
  const content = secret.data[key];
  if (content === undefined) return `Secret ${name} has no ${key}`;
  return isFields(jsonIn(content)) ? undefined : `${key} of Secret ${name} is not JSON`;
}
