import { Decoder, foldKey } from './decode.ts';
import { ignitionFailure } from './failures.ts';
import { finding, type Finding, refuseErrors } from './finding.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from './json.ts';
import { configShape } from './schema.ts';
import type { Config } from './types.ts';
import { validateConfig } from './validate.ts';
import { readSpec, readSpecVersion, type SpecMinor } from './version.ts';

/** A config, and the warnings about it. */
export interface ParsedConfig {
  readonly config: Config;
  readonly minor: SpecMinor;
  readonly warnings: readonly Finding[];
}

/** Longest part of a service's reason that is shown; it is for people. */
const REASON_LENGTH = 200;

/**
 * Reads an Ignition config of spec 3.0 to 3.5, or of a later one as far as it is understood. Only
 * the structure is checked: JSON, version, types. Unknown keys are left out and reported, so a
 * config that is only passed on must be passed on as the bytes it came in.
 *
 * @throws AgentError `ignition.empty`, `ignition.html-page`, `ignition.error-body`,
 * `ignition.not-json`, `ignition.no-version`, `ignition.spec-2`, `ignition.version-unsupported`,
 * `ignition.invalid`
 */
export const parseConfig = (
  input: Uint8Array | string,
  refuse: RefuseFindings = refuseUnlessNewer,
): ParsedConfig => decoded(parseJson(input), refuse);

/** Takes the findings of a config of a version, and returns those that are warnings. */
type RefuseFindings = (version: unknown, findings: readonly Finding[]) => readonly Finding[];

function decoded(
  { value, notes, warnings }: ReturnType<typeof parseJson>,
  refuse: RefuseFindings,
): ParsedConfig {
  const root = isJsonObject(value) ? value : {};
  refuseErrorBody(root);
  const version = statedVersion(root);
  const { minor } = readSpec(version);
  const decoder = new Decoder({ minor, fractions: notes.fractions });
  const config = decoder.object(configShape, root, { path: '' });
  const findings = refuse(version, [...warnings, ...decoder.findings]);
  // The shape guarantees the type; the version was found, so `ignition` is there.
  const newer = readSpec(version).isNewer ? [finding('newer-spec', 'ignition.version')] : [];
  return { config: config as unknown as Config, minor, warnings: [...newer, ...findings] };
}

/**
 * Reads an Ignition config and validates it by every rule of its spec, as Ignition does on first
 * boot.
 *
 * @throws AgentError as {@link parseConfig}
 */
export function parseValidConfig(input: Uint8Array | string): ParsedConfig {
  const parsed = parseConfig(input);
  const { version } = parsed.config.ignition;
  const findings = refuseUnlessNewer(version, validateConfig(parsed.config));
  return { ...parsed, warnings: [...parsed.warnings, ...findings] };
}

/**
 * Reads a config with all that is wrong with it. What only follows from a value of the wrong type
 * is left out, and so are rules that only the first boot applies: ignition-validate knows those.
 *
 * @throws AgentError as {@link parseConfig}, except `ignition.invalid`
 */
export function lintConfig(input: Uint8Array | string): {
  readonly config: Config;
  readonly findings: readonly Finding[];
} {
  const { config, warnings: findings } = parseConfig(input, (version, found) =>
    readSpec(version).isNewer ? refuseUnlessNewer(version, found) : found,
  );
  if (findings.some(({ severity }) => severity === 'error')) return { config, findings };
  const { isNewer } = readSpec(config.ignition.version);
  const more = validateConfig(config);
  const found = isNewer ? more.map((one) => ({ ...one, severity: 'warning' as const })) : more;
  return { config, findings: [...findings, ...found] };
}

/**
 * What is wrong by the rules of an older spec need not be wrong in a newer one: Ignition decides at
 * first boot.
 */
function refuseUnlessNewer(version: unknown, findings: readonly Finding[]): readonly Finding[] {
  if (!readSpec(version).isNewer) return refuseErrors(findings, 'ignition.invalid');
  return findings.map((one) => ({ ...one, severity: 'warning' }));
}

/** The members that Go's decoder would put in a field, whatever their case, in the text's order. */
function membersNamed(value: JsonValue, name: string): JsonValue[] {
  if (!isJsonObject(value)) return [];
  return Object.entries(value)
    .filter(([key, member]) => foldKey(key) === name && member !== null)
    .map(([, member]) => member);
}

function statedVersion(root: JsonObject): JsonValue | undefined {
  return membersNamed(root, 'ignition')
    .flatMap((ignition) => membersNamed(ignition, 'version'))
    .at(-1);
}

/**
 * Two shapes of error come in place of a download: `{code: "409", reason}` and `{code: 401,
 * message}` (assisted-service swagger), both with the content type of the file.
 */
function refuseErrorBody(root: JsonObject): void {
  const { code, reason, message } = root;
  const text = reason ?? message;
  const isError =
    (typeof code === 'number' || typeof code === 'string') && typeof text === 'string';
  if (!isError || membersNamed(root, 'ignition').length > 0) return;
  const what = 'ignition config is an error message of the service';
  throw ignitionFailure('ignition.error-body', what, {
    context: { code, reason: text.slice(0, REASON_LENGTH) },
  });
}

/**
 * A config as compact JSON. Empty objects and lists are left out, because they have no meaning.
 * @throws AgentError `ignition.version-unsupported` for a config whose members are not all known
 */
export function renderConfig(config: Config): string {
  readSpecVersion(config.ignition.version);
  return JSON.stringify(withoutEmpty(config));
}

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value)
    .map(([key, member]) => [key, withoutEmpty(member)] as const)
    .filter(([, member]) => !isEmpty(member));
  return Object.fromEntries(members);
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
