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
  ...{ isRight: true, reason, message },
});

/** Something is wrong. */
export const wrong = (reason: string, message?: string): CheckResult => ({
  ...{ isRight: false, reason, message },
});

/** Whether an object is paused; both providers say so. */
export const pausedCondition = (isPaused: boolean): NewCondition =>
  isPaused
    ? { type: 'Paused', status: 'True', reason: 'Paused' }
    : { type: 'Paused', status: 'False', reason: 'NotPaused' };

/** Messages are cut here: `metav1.Condition` takes 32 KiB, and people read a line. */
const longestMessage = 1024;

/**
 * The conditions of an object with some of them changed. The time of the last transition changes with the status alone
 * (Kubernetes API conventions, conditions).
 */
export function withConditions(
  before: readonly ApiCondition[] = [],
  changed: readonly NewCondition[],
  { now, generation }: { readonly now: number; readonly generation: number | undefined },
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

const start = 'delete the Cluster and start again';
const secret = 'make the Secret that the message names, in the namespace of the Cluster';
const refused = 'the message is that of the API server; correct what it refuses';
const config = 'change the config of the host, or what it was made from';
const names =
  'correct the names in DHCP, the infrastructure or nodeRegistration.name; the hosts continue then';

/** Reasons with which a person has to act, whatever the condition: something is wrong, and not only not yet. Each with what to do. */
const failureHints: Readonly<Record<string, string>> = {
  SecretNotFound: secret,
  KeyMissing: 'give the Secret the key that the message names',
  ParseFailed: 'fix the install-config at the place that the message names',
  ReplicasMismatch: 'let install-config and control plane have the same number of masters',
  Invalid: 'fix what the message names, at its place',
  Duplicate: 'keep one of the manifests that the message names',
  TemplateNotFound: `make the template that the control plane refers to, or ${start}`,
  TemplateKindNotFound: `install the infrastructure provider, or ${start}`,
  TemplateForbidden: 'give the ServiceAccount of the provider the rights that the message names',
  CreationFailed: refused,
  SecretFailed: refused,
  SecretNameTaken: 'remove the Secret that the message names',
  InstallerFailed: 'read the log of the Job; change the inputs, or remove the Job',
  ManifestsDiscarded: 'change the manifests: the installer has not taken all of them',
  ManifestsIncomplete: 'change the inputs: the installer has not made all of its files',
  HostNameInvalid: names,
  HostNameNotUnique: names,
  Expired: start,
  AssetsLost: 'restore the Secret that the message names from a backup',
  ReplicasChanged: start,
  NewerThanSpec: 'take the release of the cluster over into the control plane',
  TooShort: 'give the MachineHealthCheck hours, or remove it',
  Failed: `correct what the message names; where the host does not try again, ${start}`,
  TimedOut: `look at the host that the message names; ${start}`,
  HostInstallationFailed: 'see the host that the message names',
  APIUnreachable: 'check the control plane, and the way to its API from the management cluster',
  PullSecretNotFound: secret,
  NetworkSecretNotFound: secret,
  NetworkSecretInvalid: 'correct the keyfiles of the Secret that the message names',
  InventoryTokenNotFound: secret,
  InstallDeviceMissing: config,
  InstallDeviceAmbiguous: config,
  InvalidIgnitionOverride: config,
  NodeLabelsInvalid: config,
  InventoryUnknown: config,
  OSImageUnknown: config,
  IgnitionTooLarge: `${config}; it must be smaller`,
  AgentLost: 'look at the console of the host, and its way to the inventory',
  InstallationFailed: 'do what the message says; an agent that can try again does so by itself',
  OSImageBuildFailed: `fix the Containerfile or the MachineOSConfig, then ${start}`,
  OSImageRolloutFailed: 'do what the message says',
};

/** Whether a condition says that something failed. */
export const isFailure = ({ status, reason }: ApiCondition): boolean =>
  status !== 'True' && Object.hasOwn(failureHints, reason);

/** What to do about a condition that says that something failed. */
export const hintOf = ({ reason }: Pick<ApiCondition, 'reason'>): string =>
  failureHints[reason] ?? '';
