import { ignitionFailure } from './failures.ts';

/**
 * How severe a finding is: Ignition refuses a config with an error and accepts one with a warning.
 */
type Severity = 'error' | 'warning';

interface Rule {
  readonly severity: Severity;
  readonly text: string;
}

const error = (text: string): Rule => ({ severity: 'error', text });
const warning = (text: string): Rule => ({ severity: 'warning', text });

/**
 * The rules that this program checks, with the severity that they have in Ignition 2.24
 * (`config/v3_x/types`); those about keys say more than Ignition does.
 */
export const findingRules = {
  'newer-spec': warning('is newer than 3.5.0; it is passed on, and checked by the rules of 3.5.0'),
  'wrong-type': error('has the wrong type'),
  'unknown-key': warning('is not a key of this spec and is ignored'),
  'wrong-case-key': warning('is a key in the wrong case; Ignition accepts it'),
  'duplicate-key': warning('is given twice in one object; the last one counts'),
  'invalid-utf8': warning('holds bytes that are not UTF-8; they become replacement characters'),
  'duplicate-entry': error('is defined twice'),
  'data-url-invalid': error('is not a valid data URL'),
  'path-empty': error('must not be empty'),
  'path-relative': error('must be absolute'),
  'path-not-canonical': error('must be fully simplified'),
  'path-is-unit': error('is also written as a systemd unit or drop-in'),
  'path-through-link': error('goes through a link of this config'),
  'link-target-required': error('needs a target'),
  'hard-link-to-directory': error('is a hard link to a directory'),
} as const satisfies Readonly<Record<string, Rule>>;

/** The name of a rule; stable, for tests and for people who search. */
export type FindingRule = keyof typeof findingRules;

/** One place of a config that breaks one rule. It never quotes content, which may be secret. */
export interface Finding {
  readonly rule: FindingRule;
  readonly severity: Severity;
  /** Where, as in `storage.files[2].path`; empty for the whole config. */
  readonly path: string;
  /** One sentence with the path and what is wrong. */
  readonly message: string;
}

/** A finding of a rule at a path; `detail` follows its sentence. */
export function finding(rule: FindingRule, path: string, detail = ''): Finding {
  const { severity, text } = findingRules[rule];
  const place = path === '' ? 'config' : path;
  const message = detail === '' ? `${place} ${text}` : `${place} ${text}: ${detail}`;
  return { rule, severity, path, message };
}

/** A step deeper: `memberPath('storage', 'files', 2)` is `storage.files[2]`. */
export function memberPath(path: string, ...segments: readonly (string | number)[]): string {
  let deeper = path;
  for (const segment of segments) {
    if (typeof segment === 'number') deeper += `[${segment}]`;
    else deeper += deeper === '' ? segment : `.${segment}`;
  }
  return deeper;
}

/**
 * Returns the findings when all are warnings.
 *
 * @throws AgentError with the given code, the first error in its message and context
 */
export function refuseErrors(
  findings: readonly Finding[],
  code: 'ignition.invalid' | 'ignition.merge-invalid',
): readonly Finding[] {
  const errors = findings.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  if (first === undefined) return findings;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  const subject = code === 'ignition.invalid' ? 'ignition config' : 'merged ignition config';
  throw ignitionFailure(code, `${subject} is not valid: ${first.message}${more}`, {
    context: { rule: first.rule, path: first.path, errors: errors.length },
  });
}
