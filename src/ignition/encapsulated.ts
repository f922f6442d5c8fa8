import { Buffer } from 'node:buffer';

import * as z from 'zod';

import { foldKey } from './decode.ts';
import { ignitionFailure } from './failures.ts';
import { isJsonObject, parseJson, type JsonValue } from './json.ts';
import { decodeResource } from './resource.ts';

/**
 * Where the Machine Config Server puts the MachineConfig that it serves, without its Ignition part
 * (machine-config-operator, `pkg/server`).
 */
export const ENCAPSULATED_PATH = '/etc/ignition-machine-config-encapsulated.json';

/** The system that a first boot would change to. */
export interface EncapsulatedMachineConfig {
  /** Pull spec of the operating system image. */
  readonly osImageURL: string;
  readonly kernelArguments: readonly string[];
}

const MachineConfig = z.object({
  osImageURL: z.string().min(1),
  kernelArguments: z.array(z.string()).nullish(),
});

/**
 * Finds the encapsulated MachineConfig in a rendered config. The spec version does not matter: a
 * server asked without an Accept header answers with 2.2. Keys are matched in any case, as Go
 * matches them.
 *
 * @throws AgentError `ignition.empty`, `ignition.html-page`, `ignition.not-json`,
 * `ignition.encapsulated-missing`, `ignition.encapsulated-invalid`, and as `decodeResource`
 */
export function readEncapsulated(rendered: Uint8Array | string): EncapsulatedMachineConfig {
  const { value } = parseJson(rendered);
  const files = memberOf(memberOf(value, 'storage'), 'files');
  const candidates: readonly JsonValue[] = Array.isArray(files) ? files : [];
  const file = candidates.find((candidate) => memberOf(candidate, 'path') === ENCAPSULATED_PATH);
  if (file === undefined) {
    const message = `rendered ignition config has no file ${ENCAPSULATED_PATH}`;
    throw ignitionFailure('ignition.encapsulated-missing', message);
  }
  const contents = memberOf(file, 'contents');
  const content = decodeResource({
    ...textMember(contents, 'source'),
    ...textMember(contents, 'compression'),
  });
  return readMachineConfig(Buffer.from(content).toString('utf8'));
}

function readMachineConfig(text: string): EncapsulatedMachineConfig {
  const spec = memberOf(parseMachineConfig(text), 'spec');
  const parsed = MachineConfig.safeParse({
    osImageURL: memberOf(spec, 'osImageURL'),
    kernelArguments: memberOf(spec, 'kernelArguments'),
  });
  if (!parsed.success) {
    const member = `spec.${parsed.error.issues[0]?.path.join('.') ?? ''}`;
    const what = `encapsulated machine config has no usable ${member}`;
    throw ignitionFailure('ignition.encapsulated-invalid', what, { context: { member } });
  }
  const { osImageURL, kernelArguments } = parsed.data;
  return { osImageURL, kernelArguments: kernelArguments ?? [] };
}

function parseMachineConfig(text: string): JsonValue {
  try {
    return parseJson(text).value;
  } catch (cause) {
    const message = 'encapsulated machine config is not JSON';
    throw ignitionFailure('ignition.encapsulated-invalid', message, { cause });
  }
}

/** A member by its name, an exact one before one in another case. */
function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (!isJsonObject(value)) return undefined;
  if (Object.hasOwn(value, name)) return value[name];
  const folded = foldKey(name);
  return Object.entries(value).find(([key]) => foldKey(key) === folded)?.[1];
}

function textMember<K extends string>(
  value: JsonValue | undefined,
  name: K,
): Partial<Record<K, string>> {
  const member = memberOf(value, name);
  return typeof member === 'string' ? ({ [name]: member } as Record<K, string>) : {};
}
