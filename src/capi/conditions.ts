import { wholeSeconds } from '../model/duration.ts';
import type { ApiCondition } from './api.ts';

/** The content of a condition: the result of a check, with the remedy if it failed. */
export type CheckResult = Pick<ApiCondition, 'status' | 'reason' | 'message'>;

/** The result of a passed check. */
export const passedCheck = (reason: string, message = ''): CheckResult => ({
  status: 'True',
  reason,
  message,
});

/** The result of a failed check. */
export const failedCheck = (reason: string, message = ''): CheckResult => ({
  status: 'False',
  reason,
  message,
});

/** The condition `Paused`, which both providers write. */
export const pausedCheck = (isPaused: boolean): CheckResult =>
  isPaused ? passedCheck('Paused') : failedCheck('NotPaused');

/** Maximum length of a message: `metav1.Condition` allows 32 KiB, but people read one line. */
const longestMessage = 1024;

/**
 * Replaces some conditions of an object, by their types; an undefined one stays. The transition
 * time changes only with the status (Kubernetes API conventions, conditions).
 */
export function withConditions(
  before: readonly ApiCondition[] = [],
  checks: Readonly<Record<string, CheckResult | undefined>>,
  now: number,
  generation: number | undefined,
): readonly ApiCondition[] {
  const at = wholeSeconds(now);
  const all = new Map(before.map((one) => [one.type, one]));
  for (const [type, check] of Object.entries(checks)) {
    if (check === undefined) continue;
    const { status, reason, message = '' } = check;
    const old = all.get(type);
    all.set(type, {
      type,
      status,
      reason,
      message:
        message.length > longestMessage ? `${message.slice(0, longestMessage - 1)}…` : message,
      lastTransitionTime: old?.status === status ? old.lastTransitionTime : at,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    });
  }
  return [...all.values()].toSorted((one, other) => (one.type < other.type ? -1 : 1));
}

/** The condition of a type, if it exists. */
export const findCondition = (
  conditions: readonly ApiCondition[] | undefined,
  type: string,
): ApiCondition | undefined => conditions?.find((one) => one.type === type);

/** Whether the condition of a type exists and is True. */
export const isConditionTrue = (
  conditions: readonly ApiCondition[] | undefined,
  type: string,
): boolean => findCondition(conditions, type)?.status === 'True';

/**
 * Reasons that require a person to act, in any condition: a failure, rather than a state that will
 * pass.
 */
const failures: ReadonlySet<string> = new Set([
  'SecretNotFound',
  'Invalid',
  'TemplateNotFound',
  'TemplateKindNotFound',
  'TemplateForbidden',
  'CreationFailed',
  'SecretFailed',
  'SecretNameTaken',
  'InstallerFailed',
  'ManifestsDiscarded',
  'ManifestsIncomplete',
  'HostNameInvalid',
  'HostNameNotUnique',
  'Expired',
  'AssetsLost',
  'NewerThanSpec',
  'TooShort',
  'Failed',
  'TimedOut',
  'HostInstallationFailed',
  'APIUnreachable',
  'PullSecretNotFound',
  'NetworkSecretNotFound',
  'NetworkSecretInvalid',
  'InventoryTokenNotFound',
  'InvalidIgnitionOverride',
  'NodeLabelsInvalid',
  'InventoryUnknown',
  'OSImageUnknown',
  'IgnitionTooLarge',
  'AgentLost',
  'InstallationFailed',
  'OSImageBuildFailed',
  'OSImageRolloutFailed',
]);

/** Whether a condition reports a failure. */
export const isFailure = ({ status, reason }: ApiCondition): boolean =>
  status !== 'True' && failures.has(reason);
