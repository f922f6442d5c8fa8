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
  withConditions,
  wrong,
} from '../conditions.ts';
import { hostsCondition } from '../host-checks.ts';
import type { Seen } from './decide.ts';
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
}

const when = (
  type: string,
  isTrue: boolean,
  { reason, message }: Pick<CheckResult, 'reason' | 'message'>,
): NewCondition => ({
  ...{ type, status: isTrue ? 'True' : 'False', reason },
  ...(message === undefined ? {} : { message }),
});

const found = (type: string, finding: CheckResult): NewCondition =>
  when(type, finding.isRight, finding);

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
    ...{ replicas: machines.length, readyReplicas: count('Ready'), availableReplicas: available },
    ...{ upToDateReplicas: count('UpToDate'), updatedReplicas: count('UpToDate') },
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
      assetsCondition(seen, facts, findings),
      hostsCondition(view),
      ...bootstrapConditions(seen, facts),
      ...machineConditions(facts, findings),
      ...apiConditions(seen, findings, isInitialized),
      availableCondition(seen, facts, findings),
      ...(facts.isDeleting ? [deletingCondition(facts)] : []),
      ...known('Upgrading', findings.upgrade),
    ]),
  };
}

function assetsOf({ view }: Seen, { hasAssets }: ControlPlaneFacts): Partial<ControlPlaneStatus> {
  const { controlPlane, assets } = view;
  const { annotations = {} } = assets?.metadata ?? {};
  const at = Date.parse(annotations[ownNames.generatedAt] ?? '');
  if (!hasAssets || Number.isNaN(at)) return {};
  return {
    assets: {
      secretName: assetsSecretName(controlPlane.metadata.name),
      hash: annotations[ownNames.inputsHash] ?? '',
      generatedAt: wholeSeconds(at),
      expiresAt: wholeSeconds(at + assetsLifetime),
    },
  };
}

function assetsCondition(
  { view }: Seen,
  facts: ControlPlaneFacts,
  findings: Findings,
): NewCondition {
  const type = 'AssetsGenerated';
  if (facts.hasAssets && facts.isExpired) {
    const message =
      'the certificates of the bootstrap are too old to begin with; delete the Cluster and start again';
    return when(type, false, { reason: 'Expired', message });
  }
  if (facts.hasAssets) return when(type, true, { reason: 'Generated' });
  if (view.assets !== undefined) {
    const message = `Secret ${view.assets.metadata.name} is of another control plane; remove it`;
    return when(type, false, { reason: 'WaitingForInputs', message });
  }
  const waitsFor = missingInput(view, facts, findings);
  if (waitsFor !== undefined)
    return when(type, false, { reason: 'WaitingForInputs', message: waitsFor });
  return found(type, findings.assets ?? wrong('Generating'));
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
  const both = (ready: CheckResult, complete: CheckResult): readonly NewCondition[] => [
    found('BootstrapReady', ready),
    found('BootstrapComplete', complete),
  ];
  const up: CheckResult = { isRight: true, reason: 'TemporaryControlPlaneUp' };
  if (facts.isBootstrapComplete) return both(up, { isRight: true, reason: 'Complete' });
  if (facts.isBootstrapLost) {
    const message = 'the Machine of the bootstrap host is gone; delete the Cluster and start again';
    return both(wrong('WaitingForMachine', message), wrong('Failed', message));
  }
  if (bootstrap === undefined) return both(wrong('WaitingForMachine'), wrong('Running'));
  const limits = limitsOf(view);
  const age = now - Date.parse(bootstrap.machine.metadata.creationTimestamp ?? '');
  if (bootstrap.stage === 'Failed') {
    const message = failureText(bootstrap);
    const ready = isBootstrapReady ? up : wrong('HostInstallationFailed', message);
    return both(ready, wrong('Failed', message));
  }
  const silence = `${bootstrap.machine.metadata.name}(bootstrap): no report within ${renderDuration(limits.firstReport)}`;
  const isSilent = bootstrap.stage === '' && age > limits.firstReport;
  const text = isSilent ? silence : hostText(bootstrap);
  const reason = bootstrap.stage === '' ? 'HostNotReporting' : 'WaitingForBootstrapHost';
  const lateness = `not complete within ${renderDuration(limits.complete)}; ${text}`;
  return both(
    isBootstrapReady ? up : wrong(reason, text),
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
  const isMade = hosts.length >= replicas;
  const unready = hosts.filter(
    ({ machine }) => !isConditionTrue(machine.status?.conditions, 'Ready'),
  );
  const waits = !isBootstrapReady && hosts.length > 0;
  return [
    !template.isRight
      ? found('MachinesCreated', template)
      : isMade
        ? when('MachinesCreated', true, { reason: 'Created' })
        : when('MachinesCreated', false, {
            reason: waits ? 'WaitingForBootstrap' : 'WaitingForAssets',
            message: waits ? `${made}; the others are made once the bootstrap host is ready` : made,
          }),
    hosts.length > 0 && unready.length === 0
      ? when('MachinesReady', true, { reason: 'Ready' })
      : when('MachinesReady', false, {
          reason: 'NotReady',
          message: unready.map(hostText).join('; '),
        }),
  ];
}

function apiConditions(
  { view }: Seen,
  { hasConfigServer }: Findings,
  isInitialized: boolean,
): readonly NewCondition[] {
  const hasKubeconfig = view.kubeconfig !== undefined;
  const { configServerAvailable } = sharedConditions;
  const wasAvailable = isConditionTrue(view.controlPlane.status?.conditions, configServerAvailable);
  const hasServer = wasAvailable || (isInitialized && hasConfigServer);
  return [
    when('KubeconfigAvailable', hasKubeconfig, {
      reason: hasKubeconfig ? 'Available' : 'WaitingForAPI',
    }),
    when(configServerAvailable, hasServer, {
      reason: hasServer ? 'Available' : 'WaitingForMasters',
    }),
  ];
}

function availableCondition(
  { view, isAnswering }: Seen,
  { hosts, isBootstrapComplete }: ControlPlaneFacts,
  findings: Findings,
): NewCondition {
  const type = 'Available';
  const before = findCondition(view.controlPlane.status?.conditions, type);
  // What fails once the control plane has been available is a host that came later.
  const wasAvailable = before?.status === 'True' || before?.reason === 'APIUnreachable';
  const failed = wasAvailable ? [] : hosts.filter(({ stage }) => stage === 'Failed');
  if (failed.length > 0) {
    const message = failed.map(failureText).join('; ');
    return when(type, false, { reason: 'HostInstallationFailed', message });
  }
  if (!isBootstrapComplete && !wasAvailable)
    return when(type, false, { reason: 'Installing', message: hosts.map(hostText).join('; ') });
  if (isAnswering) return when(type, true, { reason: 'Available' });
  const message = findings.guestGap ?? 'the API of the cluster does not answer';
  return when(type, false, { reason: 'APIUnreachable', message });
}

function deletingCondition({ hosts }: ControlPlaneFacts): NewCondition {
  const names = hosts.map(({ machine }) => machine.metadata.name).join(', ');
  const message = names === '' ? '' : `waiting for Machines: ${names}`;
  return when('Deleting', true, { reason: 'DeletingMachines', message });
}
