import { countAt, listAt, partOf, textAt } from '../../kube/object.ts';
import {
  type Millis,
  minutes,
  renderDuration,
  wholeSeconds,
  readGoDuration,
} from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import { isForbidden, isRefused } from '../../ports/kube-failures.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { assetsSecretName, type ControlPlaneStatus, ownNames, sharedConditions } from '../api.ts';
import {
  type CheckResult,
  failedCheck,
  findCondition,
  isConditionTrue,
  passedCheck,
  pausedCheck,
  withConditions,
} from '../conditions.ts';
import { hostsCheck } from '../host-checks.ts';
import { ownSelector } from './machines.ts';
import type { Pass } from './pass.ts';
import { assetsLifetime, type ControlPlaneHost, type ControlPlaneView } from './view.ts';

/**
 * The status of a control plane, with the fields of both contracts (Cluster API).
 * @param failure the first failure of the pass
 */
export function controlPlaneStatus(
  pass: Pass,
  failure: AgentError | undefined,
): ControlPlaneStatus {
  const { view, guest, upgrade } = pass;
  const { controlPlane, hosts, cluster, bootstrap, now } = view;
  const { generation } = controlPlane.metadata;
  const before = controlPlane.status ?? {};
  const conditionsOf = (checks: Parameters<typeof withConditions>[1]) =>
    withConditions(
      before.conditions,
      { Paused: pausedCheck(view.isPaused), ...checks },
      now,
      generation,
    );
  if (view.isPaused) return { ...before, conditions: conditionsOf({}) };
  const isInitialized =
    view.isInitialized || (view.kubeconfig !== undefined && guest !== undefined);
  const count = (type: string): number =>
    hosts.filter(({ machine }) => isConditionTrue(machine.status?.conditions, type)).length;
  const { version } = upgrade;
  return {
    ...before,
    ...(isInitialized && {
      initialization: { controlPlaneInitialized: true },
      initialized: true,
      ready: true,
    }),
    replicas: hosts.length,
    readyReplicas: count('Ready'),
    availableReplicas: count('Available'),
    upToDateReplicas: count('UpToDate'),
    updatedReplicas: count('UpToDate'),
    unavailableReplicas: hosts.length - count('Available'),
    ...(cluster && { selector: ownSelector(controlPlane, cluster.metadata.name) }),
    ...(version !== undefined && { distributionVersion: version }),
    ...assetsOf(view),
    ...(bootstrap && { bootstrapMachine: bootstrap.machine.metadata.name }),
    ...(generation !== undefined && { observedGeneration: generation }),
    conditions: conditionsOf(checksOf(pass, failure, isInitialized)),
  };
}

function assetsOf(view: ControlPlaneView): Pick<ControlPlaneStatus, 'assets'> {
  const { annotations = {} } = view.assets?.metadata ?? {};
  const at = Date.parse(annotations[ownNames.generatedAt] ?? '');
  if (!view.hasAssets || view.areAssetsExpired || Number.isNaN(at)) return {};
  return {
    assets: {
      secretName: assetsSecretName(view.controlPlane.metadata.name),
      hash: annotations[ownNames.inputsHash] ?? '',
      generatedAt: wholeSeconds(at),
      expiresAt: wholeSeconds(at + assetsLifetime),
    },
  };
}

/** The conditions by type; an undefined condition stays as it was. */
function checksOf(
  pass: Pass,
  failure: AgentError | undefined,
  isInitialized: boolean,
): Readonly<Record<string, CheckResult | undefined>> {
  const { view, inputs, guest } = pass;
  const { hosts } = view;
  const { conditions } = view.controlPlane.status ?? {};
  const { configServerAvailable } = sharedConditions;
  const hasServer =
    isConditionTrue(conditions, configServerAvailable) ||
    // The bootstrap host's config server does not serve workers.
    (isInitialized && view.isBootstrapComplete && guest?.hasConfigServer === true);
  const unready = hosts.filter(
    ({ machine }) => !isConditionTrue(machine.status?.conditions, 'Ready'),
  );
  const areReady = hosts.length > 0 && unready.length === 0;
  const names = hosts.map(({ machine }) => machine.metadata.name).join(', ');
  const available = passedCheck('Available');
  return {
    HostsValid: hostsCheck(view),
    InstallStateValid: inputs?.installState,
    ManifestsValid: inputs?.manifests,
    AssetsGenerated: assetsCheck(pass, failure),
    HealthChecksValid: healthChecksFinding(pass.healthChecks, view.cluster?.metadata.name),
    ...bootstrapChecks(view),
    MachinesCreated: machinesCheck(pass, failure),
    MachinesReady: areReady
      ? passedCheck('Ready')
      : failedCheck('NotReady', unready.map(hostText).join('; ')),
    KubeconfigAvailable: view.kubeconfig ? available : failedCheck('WaitingForAPI'),
    [configServerAvailable]: hasServer ? available : failedCheck('WaitingForMasters'),
    Available: availableCheck(pass),
    Installed: installedCheck(pass),
    Deleting: view.isDeleting
      ? passedCheck('DeletingMachines', names === '' ? '' : `waiting for Machines: ${names}`)
      : undefined,
    Upgrading: pass.upgrade.finding,
  };
}

function assetsCheck(
  { view, inputs, templateCheck }: Pass,
  failure: AgentError | undefined,
): CheckResult {
  const name = assetsSecretName(view.controlPlane.metadata.name);
  if (view.areAssetsExpired)
    return failedCheck(
      'Expired',
      'the certificates of the bootstrap are too old to begin with; delete the Cluster and start again',
    );
  if (view.hasAssets) return passedCheck('Generated');
  if (view.areAssetsLost) {
    const message = `Secret ${name} was removed, and other files would not fit to the hosts that have its own: restore it from a backup`;
    return failedCheck(
      'AssetsLost',
      view.isBootstrapComplete
        ? `${message}; until then no host is added or replaced`
        : `${message}, or delete the Cluster and start again`,
    );
  }
  const waiting = (message: string): CheckResult => failedCheck('WaitingForInputs', message);
  if (view.assets !== undefined)
    return waiting(`Secret ${name} is of another control plane; remove it`);
  if (view.cluster === undefined) return waiting('no Cluster owns the control plane yet');
  const checks = [inputs?.installState, inputs?.manifests, templateCheck];
  const missing = checks.find((one) => one?.status === 'False');
  if (missing !== undefined) return waiting(missing.message ?? missing.reason);
  return view.isInfrastructureReady
    ? ((failure && assetsFailure(view, failure)) ?? failedCheck('Generating'))
    : waiting(
        'the infrastructure of the Cluster is not provisioned, or has no control plane endpoint',
      );
}

const failureReasons: Readonly<Record<string, string>> = {
  'installer.manifests-discarded': 'ManifestsDiscarded',
  'installer.incomplete': 'ManifestsIncomplete',
  'kube.denied': 'CreationFailed',
  'kube.invalid': 'CreationFailed',
};

/** The reason why the files cannot be made; undefined if a failure has another cause. */
export function assetsFailure(
  { hasAssets }: ControlPlaneView,
  error: AgentError,
): CheckResult | undefined {
  const { code, message } = error;
  return hasAssets || !(code.startsWith('installer.') || isRefused(error))
    ? undefined
    : failedCheck(failureReasons[code] ?? 'InstallerFailed', message);
}

/** A host with its stage, for people. */
function hostText({ machine, config, isBootstrap, stage }: ControlPlaneHost): string {
  const { percent } = config?.status?.progress ?? {};
  const progress = percent === undefined ? stage : `${stage} ${percent}%`;
  const role = isBootstrap ? 'bootstrap' : 'master';
  return `${machine.metadata.name}(${role}): ${stage === '' ? 'no report yet' : progress}`;
}

/** The failure of a host from its config. */
function failureText({ machine, config }: ControlPlaneHost): string {
  const message = findCondition(config?.status?.conditions, 'Ready')?.message ?? '';
  const text = message === '' ? config?.status?.progress?.message : message;
  return `${machine.metadata.name}: ${text ?? 'Failed'}`;
}

/** The conditions of the bootstrap host, and of the bootstrap as a whole. */
function bootstrapChecks(
  view: ControlPlaneView,
): Readonly<Record<'BootstrapReady' | 'BootstrapComplete', CheckResult>> {
  const { bootstrap, isBootstrapReady, isBootstrapLost } = view;
  const up = passedCheck('TemporaryControlPlaneUp');
  const both = (notReady: CheckResult, complete: CheckResult) => ({
    BootstrapReady: isBootstrapReady && !isBootstrapLost ? up : notReady,
    BootstrapComplete: complete,
  });
  if (view.isBootstrapComplete) return both(up, passedCheck('Complete'));
  if (isBootstrapLost) {
    const message = 'the Machine of the bootstrap host is gone; delete the Cluster and start again';
    return both(failedCheck('WaitingForMachine', message), failedCheck('Failed', message));
  }
  if (bootstrap === undefined)
    return both(failedCheck('WaitingForMachine'), failedCheck('Running'));
  if (bootstrap.stage === 'Failed') {
    const message = failureText(bootstrap);
    return both(failedCheck('HostInstallationFailed', message), failedCheck('Failed', message));
  }
  const { timeouts = {} } = view.controlPlane.spec.bootstrap ?? {};
  const timeout = (given = '', usual: Millis): Millis => readGoDuration(given) ?? usual;
  const firstReport = timeout(timeouts.firstReport, minutes(20));
  const complete = timeout(timeouts.bootstrapComplete, minutes(60));
  const { name, creationTimestamp = '' } = bootstrap.machine.metadata;
  const age = view.now - Date.parse(creationTimestamp);
  const text =
    bootstrap.stage === '' && age > firstReport
      ? `${name}(bootstrap): no report within ${renderDuration(firstReport)}`
      : hostText(bootstrap);
  return both(
    failedCheck(bootstrap.stage === '' ? 'HostNotReporting' : 'WaitingForBootstrapHost', text),
    age > complete
      ? failedCheck('TimedOut', `not complete within ${renderDuration(complete)}; ${text}`)
      : failedCheck('Running', text),
  );
}

function machinesCheck(
  { view, templateCheck }: Pass,
  failure: AgentError | undefined,
): CheckResult {
  const { hosts, replicas } = view;
  const creation = failure && creationFailure(view, failure);
  if (creation !== undefined) return creation;
  if (templateCheck.status === 'False') return templateCheck;
  if (hosts.length >= replicas) return passedCheck('Created');
  const created = `${hosts.length} of ${replicas} Machines are made`;
  return !view.isBootstrapReady && hosts.length > 0
    ? failedCheck(
        'WaitingForBootstrap',
        `${created}; the others are made once the bootstrap host is ready`,
      )
    : failedCheck('WaitingForAssets', created);
}

/**
 * The reason why a Machine is not created: the API server refuses it, or cannot accept it now, as
 * with core's webhooks during an update of core.
 */
function creationFailure(
  { hosts, replicas, hasAssets }: ControlPlaneView,
  failure: AgentError,
): CheckResult | undefined {
  if (!hasAssets) return undefined;
  const { code, message } = failure;
  const isMissing = hosts.length < replicas;
  // With all Machines present, a 403 comes from the installed cluster.
  if (
    code === 'kube.invalid' ||
    code.startsWith('control-plane.') ||
    (isMissing && isForbidden(failure))
  )
    return failedCheck('CreationFailed', message);
  return isMissing && code === 'kube.failed' ? failedCheck('CreationDelayed', message) : undefined;
}

function availableCheck({ view, guest, guestGap }: Pass): CheckResult {
  const { hosts, controlPlane } = view;
  const before = findCondition(controlPlane.status?.conditions, 'Available');
  // Once the control plane has been available, a failure concerns a host that came later.
  const wasAvailable = before?.status === 'True' || before?.reason === 'APIUnreachable';
  const failed = wasAvailable ? [] : hosts.filter(({ stage }) => stage === 'Failed');
  if (failed.length > 0)
    return failedCheck('HostInstallationFailed', failed.map(failureText).join('; '));
  if (!view.isBootstrapComplete && !wasAvailable)
    return failedCheck('Installing', hosts.map(hostText).join('; '));
  return guest === undefined
    ? failedCheck('APIUnreachable', guestGap ?? 'the API of the cluster does not answer')
    : passedCheck('Available');
}

/** The end of the installation. It stays, also during a later update. */
function installedCheck({ view, guest }: Pass): CheckResult {
  if (isConditionTrue(view.controlPlane.status?.conditions, 'Installed'))
    return passedCheck('Installed');
  if (!view.isBootstrapComplete || guest === undefined) return failedCheck('WaitingForAPI');
  const { notSettled } = guest;
  return notSettled === undefined
    ? passedCheck('Installed')
    : failedCheck('WaitingForOperators', notSettled);
}

/**
 * Minimum time in seconds. A server may take half an hour to boot, and its installation most of an
 * hour.
 */
const shortest = 3600;

/** Core's default for `nodeStartupTimeoutSeconds` (Cluster API v1beta2). */
const defaultStartup = 600;

/**
 * Condition `HealthChecksValid` of a control plane: False if a MachineHealthCheck of its Cluster
 * would replace hosts that only reboot, are still being installed, or lose their switch for a
 * while. It blocks nothing.
 */
export function healthChecksFinding(
  checks: readonly KubeObject[],
  cluster: string | undefined,
): CheckResult {
  const found = checks
    .filter((check) => textAt(check, 'spec', 'clusterName') === cluster)
    .flatMap((check) => {
      const short = shortTimes(check);
      return short.length === 0
        ? []
        : `MachineHealthCheck ${check.metadata.name}: ${short.join(', ')}`;
    });
  if (found.length === 0) return passedCheck('Valid');
  return failedCheck(
    'TooShort',
    `${found.join('; ')}: a host that reboots or is installed, or each host of a switch that is down, would be installed again; write ${shortest} s or more, 0 for the start, and spec.remediation.triggerIf.unhealthyLessThanOrEqualTo`,
  );
}

/** The times of a health check that are too short. */
function shortTimes(check: KubeObject): readonly string[] {
  const startup =
    partOf(check, 'spec', 'checks', 'nodeStartupTimeoutSeconds') === undefined
      ? defaultStartup
      : countAt(check, 'spec', 'checks', 'nodeStartupTimeoutSeconds');
  const conditions = ['unhealthyNodeConditions', 'unhealthyMachineConditions'].flatMap((member) =>
    (listAt(check, 'spec', 'checks', member) as readonly KubeObject[]).flatMap((one) => {
      const seconds = countAt(one, 'timeoutSeconds');
      const what = `${textAt(one, 'type')}=${textAt(one, 'status')}`;
      return seconds < shortest ? `${what} after ${seconds} s` : [];
    }),
  );
  const isShort = startup !== 0 && startup < shortest;
  return [...(isShort ? [`no node after ${startup} s`] : []), ...conditions];
}
