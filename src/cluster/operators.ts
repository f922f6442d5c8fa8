import { fieldsOf, textOf } from '../lib/fields.ts';
import { type Millis, minutes } from '../model/duration.ts';
import type { MonitoredOperator, OperatorReport, OperatorStatus } from '../ports/inventory.ts';
import type { KubeObject, KubeRef } from '../ports/kube.ts';
import { clusterVersions, installPlans, jobs } from '../kube/kinds.ts';
import { conditionOf, countAt, listAt, ownersOf, textAt } from '../kube/object.ts';

/** The ClusterVersion: version of the cluster, and progress of its operators. */
export const clusterVersionRef: KubeRef = { kind: clusterVersions, name: 'version' };

/** Progress of an operator in the cluster. */
export interface OperatorSnapshot {
  readonly status: OperatorStatus;
  /** The operator's own message. */
  readonly text: string;
  readonly version: string;
}

/** The first entry that holds decides; the order of conditions in an object means nothing. */
const statusByCondition: readonly (readonly [string, string, OperatorStatus])[] = [
  ['Available', 'True', 'available'],
  ['Degraded', 'True', 'failed'],
  ['Progressing', 'True', 'progressing'],
  ['Available', 'False', 'failed'],
];

function operatorStatus(object: KubeObject): Omit<OperatorSnapshot, 'version'> {
  for (const [type, value, status] of statusByCondition) {
    const found = conditionOf(object, type);
    if (found.status === value) return { status, text: found.message };
  }
  return { status: 'progressing', text: '' };
}

/** Reads a ClusterOperator. */
export function clusterOperatorSnapshot(operator: KubeObject): OperatorSnapshot {
  const [first] = listAt(operator, 'status', 'versions');
  return { ...operatorStatus(operator), version: textOf(fieldsOf(first)['version']) };
}

/** Reads the ClusterVersion as an operator: the service calls it `cvo`. */
export const clusterVersionSnapshot = (version: KubeObject): OperatorSnapshot => ({
  ...operatorStatus(version),
  version: textAt(version, 'status', 'desired', 'version'),
});

/** Whether the cluster has a console: releases before 4.12 do not know it as a capability. */
export function hasConsole(version: KubeObject): boolean {
  const isAmong = (list: string): boolean =>
    listAt(version, 'status', 'capabilities', list).includes('Console');
  return isAmong('enabledCapabilities') || !isAmong('knownCapabilities');
}

/** Every ClusterOperator, as the service shows it with a failed installation. */
export const clusterOperatorsReport = (operators: readonly KubeObject[]) => ({
  CLUSTER_OPERATORS_REPORT: operators.map((operator) => {
    const { status, text: statusInfo } = clusterOperatorSnapshot(operator);
    return { name: operator.metadata.name, status, status_info: statusInfo };
  }),
});

/** Interval of reports in which only the text has changed. */
const textInterval: Millis = minutes(1);

/** Ten polls of 30 s: a CSV may fail for a while before it succeeds. */
const failsFor: Millis = minutes(5);

/**
 * The report about an operator for the service; undefined if none is due. An operator that the
 * service has as available stays available. An empty text never replaces another: a person may be
 * reading it. An operator of OLM is failed only when it stays failed.
 * @param known the operator in the service
 * @param seen the same in the cluster
 * @param failedFor how long it has been failed without interruption
 * @param sinceReport time since its last report
 */
export function operatorReport(
  known: MonitoredOperator,
  seen: OperatorSnapshot,
  failedFor: Millis,
  sinceReport: Millis,
): OperatorReport | undefined {
  const { status, text: statusInfo, version } = seen;
  if (known.status === 'available') return undefined;
  const report = { name: known.name, version, status, statusInfo };
  if (known.status !== status) {
    return status === 'failed' && known.type === 'olm' && failedFor < failsFor ? undefined : report;
  }
  const isNews = statusInfo !== '' && statusInfo !== known.statusInfo;
  return isNews && sinceReport >= textInterval ? report : undefined;
}

/** An operator that OLM installs. */
export interface OlmOperator {
  readonly name: string;
  readonly namespace: string;
  readonly subscription: string;
}

/** Objects of OLM about its operators. */
export interface OlmObjects {
  readonly subscriptions: readonly KubeObject[];
  /** Without the copies in other namespaces. */
  readonly csvs: readonly KubeObject[];
  readonly installPlans: readonly KubeObject[];
  /** The jobs that unpack bundles. */
  readonly jobs: readonly KubeObject[];
}

/**
 * The CSV that OLM is installing for an operator; undefined until OLM has created it, which
 * initialises the operator.
 */
export function csvOf(
  operator: OlmOperator,
  { subscriptions, csvs }: OlmObjects,
): KubeObject | undefined {
  const here = ({ metadata }: KubeObject): boolean => metadata.namespace === operator.namespace;
  const found = subscriptions.find(
    (one) => here(one) && one.metadata.name === operator.subscription,
  );
  const currentCSV = textAt(found, 'status', 'currentCSV');
  return csvs.find((csv) => here(csv) && csv.metadata.name === currentCSV);
}

const statusByPhase: ReadonlyMap<string, OperatorStatus> = new Map([
  ['Succeeded', 'available'],
  ['Failed', 'failed'],
]);

/** Reads a ClusterServiceVersion. */
export const csvSnapshot = (csv: KubeObject): OperatorSnapshot => ({
  status: statusByPhase.get(textAt(csv, 'status', 'phase')) ?? 'progressing',
  text: textAt(csv, 'status', 'message'),
  version: textAt(csv, 'spec', 'version'),
});

const hasFailed = (job: KubeObject): boolean =>
  countAt(job, 'status', 'failed') > 0 || conditionOf(job, 'Failed').status === 'True';

/** A failed job or install plan. */
export interface FailedSetup extends KubeRef {
  readonly uid: string | undefined;
}

/**
 * Objects that OLM never retries, and creates again once they are deleted: failed jobs that unpack
 * a bundle, and failed install plans of these operators.
 */
export function failedSetup(
  operators: readonly OlmOperator[],
  objects: Pick<OlmObjects, 'jobs' | 'installPlans'>,
): readonly FailedSetup[] {
  const isOf = (plan: KubeObject, { namespace, subscription }: OlmOperator): boolean =>
    plan.metadata.namespace === namespace &&
    ownersOf(plan).some(({ name }) => name === subscription);
  const plans = objects.installPlans.filter(
    (plan) =>
      textAt(plan, 'status', 'phase') === 'Failed' && operators.some((one) => isOf(plan, one)),
  );
  const isThere = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp === undefined;
  const refsOf = (kind: KubeRef['kind'], found: readonly KubeObject[]): readonly FailedSetup[] =>
    found
      .filter(isThere)
      .map(({ metadata: { name, namespace, uid } }) => ({ kind, name, namespace, uid }));
  return [...refsOf(jobs, objects.jobs.filter(hasFailed)), ...refsOf(installPlans, plans)];
}

/**
 * Why an installation is not complete, by the first object that shows it; undefined once the
 * ClusterVersion is Available and no ClusterOperator is Degraded or Progressing
 * (openshift/installer, `wait-for install-complete`).
 */
export function clusterNotSettled(
  version: KubeObject | undefined,
  operators: readonly KubeObject[],
): string | undefined {
  if (version === undefined) return 'the ClusterVersion is not there yet';
  if (conditionOf(version, 'Available').status !== 'True')
    return joined('the ClusterVersion is not available', version, 'Progressing');
  if (operators.length === 0) return 'no ClusterOperator is there yet';
  for (const operator of operators) {
    const name = `ClusterOperator ${operator.metadata.name}`;
    if (conditionOf(operator, 'Available').status !== 'True')
      return joined(`${name} is not available`, operator, 'Available');
    for (const type of ['Degraded', 'Progressing'])
      if (conditionOf(operator, type).status === 'True')
        return joined(`${name} is ${type.toLowerCase()}`, operator, type);
  }
  return undefined;
}

function joined(what: string, object: KubeObject, type: string): string {
  const { message } = conditionOf(object, type);
  return message === '' ? what : `${what}: ${message}`;
}
