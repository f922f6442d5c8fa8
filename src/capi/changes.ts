import { plainLine } from '../lib/plain-text.ts';
import type { ApiCondition, BootstrapConfig } from './api.ts';
import { type ClusterObjects, hostName, isInstalled } from './cluster-objects.ts';
import { findCondition, hintOf, isFailure } from './conditions.ts';

/** Longest line of a change: a condition has at most 1,024 characters. */
const longestLine = 2048;

/** A condition of an object, as a person reads it. */
interface State {
  /** Of the object and the type: by this a state is the same one as before. */
  readonly key: string;
  readonly subject: string;
  readonly condition: ApiCondition;
  readonly text: string;
  /** Said also where the first thing that is seen is that it is not so yet. */
  readonly isStage: boolean;
}

/**
 * What has changed between two views of a Cluster, a line for each: stages of hosts, conditions of the control plane, failures with what to
 * do. Percentages change nothing. From nothing to the first view it is what has been reached, in the order in which it was.
 */
export function changeLines(
  before: ClusterObjects | undefined,
  after: ClusterObjects,
): readonly string[] {
  const known = new Map(
    (before === undefined ? [] : statesOf(before)).map((one) => [one.key, one]),
  );
  return statesOf(after)
    .filter((state) => isNews(known.get(state.key)?.condition, state))
    .toSorted((one, other) => (timeOf(one) < timeOf(other) ? -1 : 1))
    .map(lineOf);
}

/** The failures that stand, a line for each. */
export const failureLines = (objects: ClusterObjects): readonly string[] =>
  statesOf(objects)
    .filter(({ condition }) => isFailure(condition))
    .map(lineOf);

/** How the installation of a Cluster has ended; undefined while it has not. */
export type ClusterEnd = 'installed' | 'deleted' | 'not-found';

/** Compares a view with the first one: a Cluster of the name with another uid is another one. */
export function clusterEnd(
  first: ClusterObjects | undefined,
  now: ClusterObjects,
): ClusterEnd | undefined {
  if (first === undefined && now.cluster === undefined) return 'not-found';
  if (first !== undefined && first.cluster?.metadata.uid !== now.cluster?.metadata.uid)
    return 'deleted';
  const isDeleting = now.cluster?.metadata.deletionTimestamp !== undefined;
  return !isDeleting && isInstalled(now) ? 'installed' : undefined;
}

function isNews(before: ApiCondition | undefined, { condition, isStage }: State): boolean {
  const { status, reason, message } = condition;
  if (before === undefined) return isStage || status === 'True' || isFailure(condition);
  if (before.status !== status || before.reason !== reason) return true;
  return isFailure(condition) && before.message !== message;
}

const timeOf = ({ condition }: State): string => condition.lastTransitionTime;

function lineOf({ subject, text, condition }: State): string {
  const line = `${subject}: ${text}`;
  const shown = isFailure(condition) ? `failed: ${line}; next: ${hintOf(condition)}` : line;
  return plainLine(shown, longestLine);
}

const statesOf = ({ controlPlane, configs }: ClusterObjects): readonly State[] => [
  ...(controlPlane?.status?.conditions ?? []).map((condition): State => {
    const { type, status, reason, message = '' } = condition;
    const { name, uid = '' } = controlPlane?.metadata ?? { name: '' };
    const why = message === '' ? reason : `${reason}: ${message}`;
    return {
      ...{ key: `${uid}/${type}`, subject: `control plane ${name}`, condition },
      ...{ text: `${type} ${status} ${why}`, isStage: type === 'Available' },
    };
  }),
  ...configs.flatMap(hostStates),
];

/** Of a host its stage, by `Ready`, and whether it is paused: the other conditions say no more. */
function hostStates({ metadata, status = {} }: BootstrapConfig): readonly State[] {
  const role = status.role === undefined ? '' : ` (${status.role})`;
  const subject = `host ${hostName(metadata)}${role}`;
  return ['Ready', 'Paused'].flatMap((type) => {
    const condition = findCondition(status.conditions, type);
    if (condition === undefined) return [];
    const { reason, message = '' } = condition;
    const text = message === '' ? reason : message;
    const key = `${metadata.uid ?? metadata.name}/${type}/${status.progress?.attempt ?? 1}`;
    return [{ key, subject, condition, text, isStage: type === 'Ready' }];
  });
}
