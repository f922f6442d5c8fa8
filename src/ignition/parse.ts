import { ignitionFailure } from './failures.ts';
import { memberOf, parseJson } from './json.ts';
import { type Config, configShape } from './types.ts';
import { type Finding, memberPath, refuseFindings, validateConfig } from './validate.ts';

/** Longest part of a service's reason that is shown; it is for people. */
const REASON_LENGTH = 200;

/**
 * Reads an Ignition config of spec 3: JSON, version, and the types of what is read of it.
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
 * Reads an Ignition config, and validates what this program merges, reads or adds to.
 * @throws AgentError as {@link parseConfig}
 */
export function parseValidConfig(input: Uint8Array | string): Config {
  const { config, findings } = lintConfig(input);
  refuseFindings(findings, 'ignition.invalid');
  return config;
}

/**
 * Reads a config with all that is wrong with it; where a value has the wrong type, that alone.
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
 * Only stable specs from 3.0.0 on are accepted: Ignition compares the version for equality, so
 * `3.6.0-experimental`, `3.2.1` and `3.2.0+build` are no version it knows. Specs 3.x only add
 * members; whether the Ignition of the image knows a later one is for that to say.
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
 * Two shapes of error come in place of a download: `{code: "409", reason}` and `{code: 401,
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
