import { ignitionFailure } from './failures.ts';

/** How severe a finding is: Ignition refuses a config with an error and accepts one with a warning. */
type Severity = 'error' | 'warning';

interface Rule {
  readonly severity: Severity;
  readonly text: string;
}

const error = (text: string): Rule => ({ severity: 'error', text });
const warning = (text: string): Rule => ({ severity: 'warning', text });

/**
 * Every rule a config can break. The rules and their severity are those of Ignition 2.24
 * (`config/v3_x/types`), but for the ones about keys, which say more than Ignition does.
 */
export const findingRules = {
  'newer-spec': warning('is newer than 3.5.0; it is passed on, and checked by the rules of 3.5.0'),
  'wrong-type': error('has the wrong type'),
  'unknown-key': warning('is not a key of this spec and is ignored'),
  'wrong-case-key': warning('is a key in the wrong case; Ignition accepts it'),
  'duplicate-key': warning('is given twice in one object; the last one counts'),
  'invalid-utf8': warning('holds bytes that are not UTF-8; they become replacement characters'),

  'duplicate-entry': error('is defined twice'),
  'source-required': error('needs a source'),
  'url-invalid': error('is not a URL'),
  'url-scheme': error('has a URL scheme that is not supported here'),
  'url-s3-version': error('has an empty versionId'),
  'url-s3-arn': error('is not the ARN of an S3 object'),
  'data-url-invalid': error('is not a valid data URL'),
  'compression-unknown': error('must be empty or gzip'),
  'hash-without-source': error('needs a source to verify'),
  'hash-malformed': error('must be the hash function, a hyphen and the digest'),
  'hash-function-unknown': error('names a hash function that is not supported by this spec'),
  'hash-length': error('has a digest of the wrong length'),
  'header-name-empty': error('must not be empty'),
  'header-value-empty': error('must not be empty'),
  'headers-need-http': error('can only be used with an http or https source'),
  'proxy-scheme': error('must be an http or https URL'),
  'proxy-insecure': warning('sends HTTPS requests through a plaintext proxy'),

  'path-empty': error('must not be empty'),
  'path-relative': error('must be absolute'),
  'path-not-canonical': error('must be fully simplified'),
  'path-is-unit': error('is also written as a systemd unit or drop-in'),
  'path-through-link': error('goes through a link of this config'),
  'mode-out-of-range': error('must be between 0 and 4095 (07777)'),
  'mode-special-bits': warning(
    'has setuid, setgid or sticky bits, which take effect from spec 3.6',
  ),
  'overwrite-without-source': error('must not be true for a file without a source'),
  'owner-id-and-name': error('must not have both an id and a name'),
  'link-target-required': error('needs a target'),
  'hard-link-to-directory': error('is a hard link to a directory'),
  'hard-link-owner': warning('has no effect on a hard link'),

  'device-required': error('needs a device'),
  'partition-number-twice': error('has a partition number that is already used'),
  'partition-label-twice': error('has a partition label that is already used'),
  'partition-overlap': error('overlaps another partition'),
  'partition-zero-and-absent': error(
    'must not have a partition without a number next to one with shouldExist: false',
  ),
  'partition-absent-with-others': error(
    'has shouldExist: false, so it must have no other settings',
  ),
  'partition-unnamed': error('needs a number or a label'),
  'label-too-long': error('is too long'),
  'label-colon': error('must not have a colon'),
  'label-needs-format': error('needs a format'),
  'guid-malformed': error('must look like 01234567-89AB-CDEF-EDCB-A98765432101'),
  'format-unknown': error('is not a filesystem format of this spec'),
  'format-required': error('must not be empty when the filesystem has other settings'),
  'filesystem-on-partitions': warning('is a disk with partitions; the filesystem overwrites them'),
  'filesystem-wiped': warning(
    'is a disk whose partition table is wiped, and the filesystem with it',
  ),
  'raid-level-required': error('is required'),
  'raid-level-unknown': error('is not a RAID level'),
  'raid-devices-required': error('needs at least one device'),
  'raid-no-spares': error('cannot have spares at this level'),
  'luks-name-slash': error('must not have a slash'),
  'luks-key-file': error('is not a valid key file'),
  'clevis-pin-required': error('is required'),
  'clevis-pin-unknown': error('must be tpm2, tang or sss'),
  'clevis-config-required': error('is required'),
  'clevis-custom-with-others': error('must not mix custom with tang, tpm2 or threshold'),
  'cex-with-clevis': error('must not be used with clevis'),
  'cex-with-key-file': error('must not be used with a key file'),
  'tang-thumbprint-required': error('is required'),
  'tang-advertisement': error('is not JSON'),

  'unit-name-suffix': error('does not end in a unit suffix'),
  'unit-syntax': error('is not a valid unit file'),
  'unit-not-installable': warning('is enabled but has no [Install] section'),
  'template-not-installable': warning('is enabled but its template has no [Install] section'),
  'dropin-name-suffix': error('does not end in .conf'),
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
