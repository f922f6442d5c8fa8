import { wholeSeconds } from '../model/duration.ts';
import type { ApiCondition } from './api.ts';

/** A condition before it is written. */
export type NewCondition = Omit<ApiCondition, 'lastTransitionTime' | 'observedGeneration'>;

/** The result of a check, with the remedy if it failed. */
export interface CheckResult {
  readonly isRight: boolean;
  readonly reason: string;
  readonly message?: string | undefined;
}

/** The result of a passed check. */
export const right = (reason: string, message?: string): CheckResult => ({
  isRight: true,
  reason,
  message,
});

/** The result of a failed check. */
export const wrong = (reason: string, message?: string): CheckResult => ({
  isRight: false,
  reason,
  message,
});

/** A condition from the result of a check. */
export const conditionOfCheck = (
  type: string,
  { isRight, reason, message = '' }: CheckResult,
): NewCondition => ({ type, status: isRight ? 'True' : 'False', reason, message });

/** The condition `Paused`, which both providers write. */
export const pausedCondition = (isPaused: boolean): NewCondition =>
  isPaused
    ? { type: 'Paused', status: 'True', reason: 'Paused' }
    : { type: 'Paused', status: 'False', reason: 'NotPaused' };

/** Maximum length of a message: `metav1.Condition` allows 32 KiB, but people read one line. */
const longestMessage = 1024;

/**
 * Replaces some conditions of an object. The transition time changes only with the status
 * (Kubernetes API conventions, conditions).
 */
export function withConditions(
  before: readonly ApiCondition[] = [],
  changed: readonly NewCondition[],
  now: number,
  generation: number | undefined,
): readonly ApiCondition[] {
  const at = wholeSeconds(now);
  const next = changed.map(({ message = '', ...condition }): ApiCondition => {
    const old = before.find(({ type }) => type === condition.type);
    return {
      ...condition,
      message:
        message.length > longestMessage ? `${message.slice(0, longestMessage - 1)}…` : message,
      lastTransitionTime: old?.status === condition.status ? old.lastTransitionTime : at,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
  });
  const types = new Set(next.map(({ type }) => type));
  return [...before.filter(({ type }) => !types.has(type)), ...next].toSorted((one, other) =>
    one.type < other.type ? -1 : 1,
  );
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
  'ReplicasChanged',
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
