import { minutes, renderDuration, wholeSeconds } from '../../model/duration.ts';
import {
  type ApiCondition,
  assetsSecretName,
  type ControlPlaneStatus,
  ownNames,
  sharedConditions,
} from '../api.ts';
import {
  type CheckResult,
  findCondition,
  isConditionTrue,
  type NewCondition,
  pausedCondition,
  right,
  withConditions,
  wrong,
} from '../conditions.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { healthChecksCondition } from '../health-checks.ts';
import { hostsCondition } from '../host-checks.ts';
import type { Seen } from './reconcile.ts';
import {
  assetsLifetime,
  type ControlPlaneFacts,
  controlPlaneFacts,
  type HostFact,
  readDuration,
} from './view.ts';
import { ownSelector } from './machines.ts';

/** What a status says that no object of the management cluster says. */
export interface Findings {
  /** Undefined once the files were made of them. */
  readonly installState?: CheckResult;
  readonly manifests?: CheckResult;
  readonly template: CheckResult;
  /** How the making of the files is; undefined where nobody has tried. */
  readonly assets?: CheckResult;
  /** Why the API of the guest does not answer. */
  readonly guestGap?: string | undefined;
  /** A config server of a master answers. */
  readonly hasConfigServer: boolean;
  /** The version that the guest has, and how an upgrade is. */
  readonly version?: string | undefined;
  readonly upgrade?: CheckResult | undefined;
  /** Those of its namespace. */
  readonly healthChecks: readonly KubeObject[];
  /** Why the installation has not come to its end, by what the guest shows. */
  readonly notSettled: string | undefined;
}

const found = (type: string, { isRight, reason, message }: CheckResult): NewCondition => ({
  type,
  status: isRight ? 'True' : 'False',
  reason,
  ...(message === undefined ? {} : { message }),
});

const known = (type: string, finding: CheckResult | undefined): readonly NewCondition[] =>
  finding === undefined ? [] : [found(type, finding)];

/** The status of a control plane (Cluster API contract, in both spellings). */
export function controlPlaneStatus(seen: Seen, findings: Findings): ControlPlaneStatus {
  const { view, now } = seen;
  const { controlPlane, machines, cluster } = view;
  const before = controlPlane.status ?? {};
  const { generation } = controlPlane.metadata;
  const facts = controlPlaneFacts(view, now);
  const conditions = (changed: readonly NewCondition[]): readonly ApiCondition[] =>
    withConditions(before.conditions, changed, { now, generation });
  const paused = pausedCondition(facts.isPaused);
  if (facts.isPaused) return { ...before, conditions: conditions([paused]) };
  const isInitialized = facts.isInitialized || (view.kubeconfig !== undefined && seen.isAnswering);
  const count = (type: string): number =>
    machines.filter(({ status }) => isConditionTrue(status?.conditions, type)).length;
  const available = count('Available');
  const { bootstrap } = facts;
  return {
    ...before,
    ...(isInitialized
      ? { initialization: { controlPlaneInitialized: true }, initialized: true, ready: true }
      : {}),
    replicas: machines.length,
    readyReplicas: count('Ready'),
    availableReplicas: available,
    upToDateReplicas: count('UpToDate'),
    updatedReplicas: count('UpToDate'),
    unavailableReplicas: machines.length - available,
    ...(cluster === undefined
      ? {}
      : { selector: ownSelector(controlPlane, cluster.metadata.name) }),
    ...(findings.version === undefined ? {} : { distributionVersion: findings.version }),
    ...assetsOf(seen, facts),
    ...(bootstrap === undefined ? {} : { bootstrapMachine: bootstrap.machine.metadata.name }),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    conditions: conditions([
      paused,
      ...known('InstallStateValid', findings.installState),
      ...known('ManifestsValid', findings.manifests),
      found('AssetsGenerated', assetsCheck(seen, facts, findings)),
      hostsCondition(view),
      healthChecksCondition(findings.healthChecks, cluster?.metadata.name),
      ...bootstrapConditions(seen, facts),
      ...machineConditions(facts, findings),
      ...apiConditions(seen, findings, isInitialized),
      found('Available', availableCheck(seen, facts, findings)),
      found('Installed', installedCheck(seen, facts, findings)),
      ...(facts.isDeleting ? [found('Deleting', deletingCheck(facts))] : []),
      ...known('Upgrading', findings.upgrade),
    ]),
  };
}

function assetsOf(
  { view }: Seen,
  { hasAssets, unfit }: ControlPlaneFacts,
): Partial<ControlPlaneStatus> {
  const { controlPlane, assets } = view;
  const { annotations = {} } = assets?.metadata ?? {};
  const at = Date.parse(annotations[ownNames.generatedAt] ?? '');
  if (!hasAssets || unfit !== undefined || Number.isNaN(at)) return {};
  return {
    assets: {
      secretName: assetsSecretName(controlPlane.metadata.name),
      hash: annotations[ownNames.inputsHash] ?? '',
      generatedAt: wholeSeconds(at),
      expiresAt: wholeSeconds(at + assetsLifetime),
    },
  };
}

function assetsCheck({ view }: Seen, facts: ControlPlaneFacts, findings: Findings): CheckResult {
  if (facts.hasAssets) return facts.unfit ?? right('Generated');
  if (facts.areAssetsLost) {
    const name = assetsSecretName(view.controlPlane.metadata.name);
    const message = `Secret ${name} was removed, and other files would not fit to the hosts that have its own: restore it from a backup`;
    return wrong(
      'AssetsLost',
      facts.isBootstrapComplete
        ? `${message}; until then no host is added or replaced`
        : `${message}, or delete the Cluster and start again`,
    );
  }
  const waitsFor =
    view.assets === undefined
      ? missingInput(view, facts, findings)
      : `Secret ${view.assets.metadata.name} is of another control plane; remove it`;
  if (waitsFor !== undefined) return wrong('WaitingForInputs', waitsFor);
  return findings.assets ?? wrong('Generating');
}

function missingInput(
  { cluster }: Seen['view'],
  { isInfrastructureReady }: ControlPlaneFacts,
  { installState, manifests, template }: Findings,
): string | undefined {
  if (cluster === undefined) return 'no Cluster owns the control plane yet';
  const wrong = [installState, manifests, template].find((one) => one?.isRight === false);
  if (wrong !== undefined) return wrong.message ?? wrong.reason;
  return isInfrastructureReady
    ? undefined
    : 'the infrastructure of the Cluster is not provisioned, or has no control plane endpoint';
}

/** A host with its stage, for people. */
const hostText = ({ machine, config, isBootstrap, stage }: HostFact): string => {
  const { percent } = config?.status?.progress ?? {};
  const role = isBootstrap ? 'bootstrap' : 'master';
  const progress = percent === undefined ? '' : ` ${percent}%`;
  return `${machine.metadata.name}(${role}): ${stage === '' ? 'no report yet' : `${stage}${progress}`}`;
};

/** How a host failed, as its config says it. */
const failureText = ({ machine, config }: HostFact): string => {
  const message = findCondition(config?.status?.conditions, 'Ready')?.message;
  const text =
    message === undefined || message === '' ? config?.status?.progress?.message : message;
  return `${machine.metadata.name}: ${text ?? 'Failed'}`;
};

/** Unless the control plane says otherwise. */
const defaultTimeouts = { firstReport: minutes(20), bootstrapComplete: minutes(60) };

/** How the bootstrap host is, and the bootstrap as a whole. */
function bootstrapConditions(
  { view, now }: Seen,
  facts: ControlPlaneFacts,
): readonly NewCondition[] {
  const { bootstrap, isBootstrapReady } = facts;
  const up = right('TemporaryControlPlaneUp');
  const both = (notReady: CheckResult, complete: CheckResult): readonly NewCondition[] => [
    found('BootstrapReady', isBootstrapReady && !facts.isBootstrapLost ? up : notReady),
    found('BootstrapComplete', complete),
  ];
  if (facts.isBootstrapComplete) return both(up, right('Complete'));
  if (facts.isBootstrapLost) {
    const message = 'the Machine of the bootstrap host is gone; delete the Cluster and start again';
    return both(wrong('WaitingForMachine', message), wrong('Failed', message));
  }
  if (bootstrap === undefined) return both(wrong('WaitingForMachine'), wrong('Running'));
  if (bootstrap.stage === 'Failed') {
    const message = failureText(bootstrap);
    return both(wrong('HostInstallationFailed', message), wrong('Failed', message));
  }
  const limits = limitsOf(view);
  const { name, creationTimestamp = '' } = bootstrap.machine.metadata;
  const age = now - Date.parse(creationTimestamp);
  const text =
    bootstrap.stage === '' && age > limits.firstReport
      ? `${name}(bootstrap): no report within ${renderDuration(limits.firstReport)}`
      : hostText(bootstrap);
  const lateness = `not complete within ${renderDuration(limits.complete)}; ${text}`;
  return both(
    wrong(bootstrap.stage === '' ? 'HostNotReporting' : 'WaitingForBootstrapHost', text),
    age > limits.complete ? wrong('TimedOut', lateness) : wrong('Running', text),
  );
}

function limitsOf({ controlPlane: { spec } }: Seen['view']) {
  const { firstReport = '', bootstrapComplete = '' } = spec.bootstrap?.timeouts ?? {};
  return {
    firstReport: readDuration(firstReport) ?? defaultTimeouts.firstReport,
    complete: readDuration(bootstrapComplete) ?? defaultTimeouts.bootstrapComplete,
  };
}

function machineConditions(
  { hosts, replicas, isBootstrapReady }: ControlPlaneFacts,
  { template }: Findings,
): readonly NewCondition[] {
  const made = `${hosts.length} of ${replicas} Machines are made`;
  const waiting =
    !isBootstrapReady && hosts.length > 0
      ? wrong(
          'WaitingForBootstrap',
          `${made}; the others are made once the bootstrap host is ready`,
        )
      : wrong('WaitingForAssets', made);
  const unready = hosts.filter(
    ({ machine }) => !isConditionTrue(machine.status?.conditions, 'Ready'),
  );
  const created = hosts.length >= replicas ? right('Created') : waiting;
  const isReady = hosts.length > 0 && unready.length === 0;
  return [
    found('MachinesCreated', template.isRight ? created : template),
    found(
      'MachinesReady',
      isReady ? right('Ready') : wrong('NotReady', unready.map(hostText).join('; ')),
    ),
  ];
}

function apiConditions(
  { view }: Seen,
  { hasConfigServer }: Findings,
  isInitialized: boolean,
): readonly NewCondition[] {
  const { configServerAvailable } = sharedConditions;
  const wasAvailable = isConditionTrue(view.controlPlane.status?.conditions, configServerAvailable);
  const hasServer = wasAvailable || (isInitialized && hasConfigServer);
  const available = right('Available');
  return [
    found('KubeconfigAvailable', view.kubeconfig ? available : wrong('WaitingForAPI')),
    found(configServerAvailable, hasServer ? available : wrong('WaitingForMasters')),
  ];
}

function availableCheck(
  { view, isAnswering }: Seen,
  { hosts, isBootstrapComplete }: ControlPlaneFacts,
  { guestGap = 'the API of the cluster does not answer' }: Findings,
): CheckResult {
  const before = findCondition(view.controlPlane.status?.conditions, 'Available');
  // What fails once the control plane has been available is a host that came later.
  const wasAvailable = before?.status === 'True' || before?.reason === 'APIUnreachable';
  const failed = wasAvailable ? [] : hosts.filter(({ stage }) => stage === 'Failed');
  if (failed.length > 0) return wrong('HostInstallationFailed', failed.map(failureText).join('; '));
  if (!isBootstrapComplete && !wasAvailable)
    return wrong('Installing', hosts.map(hostText).join('; '));
  return isAnswering ? right('Available') : wrong('APIUnreachable', guestGap);
}

/** The end of the installation: it stays, whatever an update does later. */
function installedCheck(
  { view, isAnswering }: Seen,
  { isBootstrapComplete }: ControlPlaneFacts,
  { notSettled }: Findings,
): CheckResult {
  const wasInstalled = isConditionTrue(view.controlPlane.status?.conditions, 'Installed');
  if (wasInstalled) return right('Installed');
  if (!isBootstrapComplete || !isAnswering) return wrong('WaitingForAPI');
  return notSettled === undefined ? right('Installed') : wrong('WaitingForOperators', notSettled);
}

function deletingCheck({ hosts }: ControlPlaneFacts): CheckResult {
  const names = hosts.map(({ machine }) => machine.metadata.name).join(', ');
  return right('DeletingMachines', names === '' ? '' : `waiting for Machines: ${names}`);
}
