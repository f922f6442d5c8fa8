import { ignitionFailure } from './failures.ts';
import { memberOf, parseJson } from './json.ts';
import { type Config, configShape } from './types.ts';
import { type Finding, memberPath, refuseFindings, validateConfig } from './validate.ts';

/** Maximum length of a reason of the service in a message for people. */
const REASON_LENGTH = 200;

/**
 * Parses an Ignition config of spec 3: JSON, version, and the types of the members that Bootwright
 * reads.
 *
 * @throws AgentError `ignition.empty`, `ignition.html-page`, `ignition.error-body`,
 * `ignition.not-json`, `ignition.no-version`, `ignition.spec-2`, `ignition.version-unsupported`,
 * `ignition.invalid`
 */
export function parseConfig(input: Uint8Array | string): Config {
  const { config, findings } = readConfig(input);
  refuseFindings(findings, 'ignition.invalid');
  return config;
}

/**
 * Parses an Ignition config and validates the parts that this program merges, reads or extends.
 * @throws AgentError as {@link parseConfig}
 */
export function parseValidConfig(input: Uint8Array | string): Config {
  const { config, findings } = lintConfig(input);
  refuseFindings(findings, 'ignition.invalid');
  return config;
}

/**
 * Parses a config and returns all findings; if a value has the wrong type, only that finding.
 * @throws AgentError as {@link parseConfig}, except `ignition.invalid`
 */
export function lintConfig(input: Uint8Array | string): ReturnType<typeof readConfig> {
  const { config, findings } = readConfig(input);
  return { config, findings: findings.length > 0 ? findings : validateConfig(config) };
}

function readConfig(input: Uint8Array | string): {
  readonly config: Config;
  readonly findings: readonly Finding[];
} {
  const value = parseJson(input);
  const ignition = memberOf(value, 'ignition');
  if (ignition === undefined) refuseErrorBody(value);
  refuseVersion(memberOf(ignition, 'version'));
  const issues = configShape.safeParse(value).error?.issues ?? [];
  const findings = issues.map((issue) => {
    const path = issue.path.reduce(memberPath, '');
    return { rule: 'wrong-type', path, message: `${path}: ${issue.message}` } as const;
  });
  return { config: value as Config, findings };
}

/**
 * Accepts only stable specs from 3.0.0 on: Ignition compares the version for equality, so it knows
 * no `3.6.0-experimental`, `3.2.1` or `3.2.0+build`. Specs 3.x only add members; Ignition of the
 * image itself decides whether it knows a later one.
 */
function refuseVersion(version: unknown): void {
  const [, major = '', rest] =
    /^(\d+)\.(\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?)$/.exec(String(version)) ?? [];
  if (typeof version !== 'string' || rest === undefined)
    throw ignitionFailure('ignition.no-version', 'ignition config has no readable spec version');
  const context = { version };
  if (Number(major) < 3) {
    const what = 'ignition config has an outdated spec version';
    throw ignitionFailure('ignition.spec-2', what, { context });
  }
  if (major === '3' && /^\d+\.0$/.test(rest)) return;
  const what = 'ignition config has an unsupported spec version';
  throw ignitionFailure('ignition.version-unsupported', what, { context });
}

/**
 * Two shapes of an error body can replace a download: `{code: "409", reason}` and `{code: 401,
 * message}` (assisted-service swagger), both with the content type of the file.
 */
function refuseErrorBody(value: unknown): void {
  const code = memberOf(value, 'code');
  const reason = memberOf(value, 'reason') ?? memberOf(value, 'message');
  if ((typeof code !== 'number' && typeof code !== 'string') || typeof reason !== 'string') return;
  throw ignitionFailure(
    'ignition.error-body',
    'ignition config is an error message of the service',
    {
      context: { code, reason: reason.slice(0, REASON_LENGTH) },
    },
  );
}
