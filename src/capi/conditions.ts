import { wholeSeconds } from '../model/duration.ts';
import type { ApiCondition } from './api.ts';

/** What is known of a condition before it is written. */
export type NewCondition = Omit<ApiCondition, 'lastTransitionTime' | 'observedGeneration'>;

/** Whether something is right, and else what is to be done. */
export interface CheckResult {
  readonly isRight: boolean;
  readonly reason: string;
  readonly message?: string | undefined;
}

/** Something is as it has to be. */
export const right = (reason: string, message?: string): CheckResult => ({
  isRight: true,
  reason,
  message,
});

/** Something is wrong. */
export const wrong = (reason: string, message?: string): CheckResult => ({
  isRight: false,
  reason,
  message,
});

/** The result of a check as a condition. */
export const conditionOfCheck = (
  type: string,
  { isRight, reason, message = '' }: CheckResult,
): NewCondition => ({ type, status: isRight ? 'True' : 'False', reason, message });

/** Whether an object is paused; both providers say so. */
export const pausedCondition = (isPaused: boolean): NewCondition =>
  isPaused
    ? { type: 'Paused', status: 'True', reason: 'Paused' }
    : { type: 'Paused', status: 'False', reason: 'NotPaused' };

/** Messages are cut here: `metav1.Condition` takes 32 KiB, and people read a line. */
const longestMessage = 1024;

/**
 * The conditions of an object with some of them changed. The time of the last transition changes
 * with the status alone (Kubernetes API conventions, conditions).
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

/** The condition of a type, where it is there. */
export const findCondition = (
  conditions: readonly ApiCondition[] | undefined,
  type: string,
): ApiCondition | undefined => conditions?.find((one) => one.type === type);

/** Whether the condition of a type is there, and True. */
export const isConditionTrue = (
  conditions: readonly ApiCondition[] | undefined,
  type: string,
): boolean => findCondition(conditions, type)?.status === 'True';

/**
 * Reasons with which a person has to act, whatever the condition: something is wrong, and not only
 * not yet.
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

/** Whether a condition says that something failed. */
export const isFailure = ({ status, reason }: ApiCondition): boolean =>
  status !== 'True' && failures.has(reason);
