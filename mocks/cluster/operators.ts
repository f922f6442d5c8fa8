// The operators of a cluster and its ClusterVersion, which become available one after the other.
// Reasons and messages are those of OpenShift 4.2x.
import type { KubeObject } from '../../src/ports/kube.ts';
import { objectIn } from './object-files.ts';

/**
 * In the order in which they become available; from `ingress` on they need a node that accepts
 * workload.
 */
export const operatorNames = [
  'etcd',
  'machine-config',
  'network',
  'authentication',
  'ingress',
  'console',
] as const;
export type OperatorName = (typeof operatorNames)[number];

/** Each is Progressing first, then Degraded or still Progressing, then Available. */
const STEPS = 2;

/** The step after which every operator is available. */
export const lastStep = operatorNames.length * STEPS;

/** Whether the step needs a node for the routers. */
export const needsWorkload = (step: number): boolean =>
  step > operatorNames.indexOf('ingress') * STEPS;

/** The step at which an operator would become available. */
export const stepOf = (operator: string): number =>
  (operatorNames as readonly string[]).indexOf(operator) * STEPS + STEPS;

interface Condition {
  readonly type: 'Available' | 'Progressing' | 'Degraded';
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/** An operator's conditions while it is Degraded. */
const degraded: Readonly<Partial<Record<OperatorName, Pick<Condition, 'reason' | 'message'>>>> = {
  authentication: {
    reason: 'OAuthServerRouteEndpointAccessibleController_SyncError',
    message:
      'OAuthServerRouteEndpointAccessibleControllerDegraded: Get "https://oauth-openshift.apps.lab.example.test/healthz": EOF',
  },
  console: {
    reason: 'RouteHealth_FailedGet',
    message:
      'RouteHealthDegraded: failed to GET route (https://console-openshift-console.apps.lab.example.test): EOF',
  },
};

/** Progress of a cluster's operators. */
interface Progress {
  readonly step: number;
  /** The operator that fails, and never becomes available. */
  readonly stuck?: OperatorName | undefined;
}

/** The conditions of an operator after a number of steps of the whole cluster. */
export function operatorConditions(
  name: OperatorName,
  { step, stuck }: Progress,
): readonly Condition[] {
  const most = name === stuck ? STEPS - 1 : STEPS;
  const seen = Math.min(step - operatorNames.indexOf(name) * STEPS, most);
  const problem = seen === STEPS - 1 ? degraded[name] : undefined;
  const isAvailable = seen >= STEPS;
  return [
    problem === undefined
      ? { type: 'Degraded', status: 'False', reason: 'AsExpected', message: '' }
      : { type: 'Degraded', status: 'True', ...problem },
    isAvailable
      ? { type: 'Progressing', status: 'False', reason: 'AsExpected', message: '' }
      : { type: 'Progressing', status: 'True', ...progressing(name) },
    isAvailable
      ? { type: 'Available', status: 'True', reason: 'AsExpected', message: `${name} is available` }
      : { type: 'Available', status: 'False', ...(problem ?? progressing(name)) },
  ];
}

const progressing = (name: OperatorName): Pick<Condition, 'reason' | 'message'> => ({
  reason: 'SyncLoopRefresh_InProgress',
  message: `SyncLoopRefreshProgressing: working toward version, 0 replicas of ${name} available`,
});

const timed = (conditions: readonly Condition[], at: Date): readonly object[] =>
  conditions.map((condition) => ({ ...condition, lastTransitionTime: at.toISOString() }));

/** A ClusterOperator without its status. */
export const operatorObject = (name: string): KubeObject => ({
  apiVersion: 'config.openshift.io/v1',
  kind: 'ClusterOperator',
  metadata: { name },
  spec: {},
});

/** The status of a ClusterOperator after a number of steps. */
export const operatorStatus = (
  name: OperatorName,
  { version, at, ...progress }: Progress & { readonly version: string; readonly at: Date },
): object => ({
  conditions: timed(operatorConditions(name, progress), at),
  versions: isAvailable(name, progress) ? [{ name: 'operator', version }] : [],
});

const isAvailable = (name: OperatorName, { step, stuck }: Progress): boolean =>
  name !== stuck && stepOf(name) <= step;

/** The status of the ClusterVersion: it is available once every operator is. */
export function versionStatus({
  version,
  at,
  ...progress
}: Progress & { readonly version: string; readonly at: Date }): object {
  const missing = operatorNames.filter((name) => !isAvailable(name, progress));
  const isDone = missing.length === 0;
  const done = operatorNames.length - missing.length;
  const message = isDone
    ? `Cluster version is ${version}`
    : `Working towards ${version}: ${done} of ${operatorNames.length} done, waiting on ${missing.join(', ')}`;
  const time = at.toISOString();
  return objectIn('version-status', {
    version,
    time,
    state: isDone ? 'Completed' : 'Partial',
    completionTime: isDone ? time : 'null',
    available: isDone ? 'True' : 'False',
    progressing: isDone ? 'False' : 'True',
    reason: isDone ? 'AsExpected' : 'ClusterOperatorsUpdating',
    message: JSON.stringify(message),
  });
}
