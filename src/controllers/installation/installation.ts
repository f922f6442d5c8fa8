import { notesOf } from '../../engine/events.ts';
import { asRun, type Controller, startControllers } from '../../kube/manager.ts';
import { applyAgentManifests } from './agent-manifests.ts';
import { announceReady } from './announce-ready.ts';
import { requestController } from './approve-requests.ts';
import { metalController } from './bare-metal-hosts.ts';
import { completeInstallation } from './complete-installation.ts';
import { waitForBootstrapHost, waitForCluster, waitForService } from './end.ts';
import { labelController, pauseController } from './labels.ts';
import { leftController, removeLeftRecord, unpauseController } from './left-work.ts';
import { type NewCluster, readNewCluster } from './new-cluster.ts';
import { reportControllers, taintController } from './reports.ts';
import { type InstallationScope, type ProgramScope, runStep } from './scope.ts';
import { installationStores } from './stores.ts';
import { logController, uploadFinalLogs } from './upload-logs.ts';

/**
 * Completes an installation from inside the new cluster: its controllers run until the installation
 * is over and its final work is done.
 * @throws AgentError of a failed final step; the signal's reason
 */
export async function runInstallation(scope: ProgramScope): Promise<void> {
  const { clock, emit, signal } = scope;
  await asRun({ clock, emit, signal }, { name: 'controller', steps: 0 }, async () => {
    const cluster = await runStep(
      scope,
      'read-new-cluster',
      'Read the invoker and the platform of the cluster',
      readNewCluster,
    );
    await startControllers(scope, {
      name: 'controller',
      controllers: installationControllers(scope, cluster),
      until: (inner) => endInstallation({ ...scope, signal: inner }, cluster),
    });
  });
}

/**
 * The controllers of an installation. Without a service they only do the work that the bootstrap
 * host has left.
 */
export function installationControllers(
  { emit, ...ports }: Omit<ProgramScope, 'signal'>,
  cluster: NewCluster,
): readonly Controller[] {
  const scopeOf = (name: string): InstallationScope => ({
    ...ports,
    note: notesOf(emit, `controller/${name}`),
  });
  const stores = installationStores(ports);
  const { config } = ports;
  if (config.controller.notifyNumReboots) {
    const text = 'this controller does not count reboots: NOTIFY_NUM_REBOOTS has no effect';
    scopeOf('report-nodes').note('warn', text);
  }
  const controllers = [
    requestController(scopeOf('approve-requests'), stores, cluster),
    leftController(scopeOf('do-left-work')),
    unpauseController(scopeOf('unpause-pools')),
  ];
  if (config.service.url.isEmpty) return controllers;
  controllers.push(
    ...reportControllers(scopeOf('report-nodes'), stores),
    labelController(scopeOf('label-nodes'), stores),
    pauseController(scopeOf('label-nodes'), stores),
  );
  // The service of an agent-based installation has left before its only node joins.
  if (!cluster.isAgentBased || config.cluster.controlPlaneCount > 1)
    controllers.push(taintController(scopeOf('remove-cloud-taint'), stores, cluster));
  if (cluster.platform === 'baremetal')
    controllers.push(metalController(scopeOf('register-bare-metal-hosts')));
  if (!cluster.isAgentBased)
    controllers.push(logController(scopeOf('upload-logs-regularly'), stores));
  return controllers;
}

/**
 * The end of the controllers: the installation is over, its logs are sent, its record is deleted.
 */
async function endInstallation(scope: ProgramScope, cluster: NewCluster): Promise<void> {
  const { config } = scope;
  const { isAgentBased } = cluster;
  // The service of an agent-based single node has left by then, and no host waits for the event.
  if (!isAgentBased || config.cluster.controlPlaneCount !== 1) {
    await runStep(scope, 'announce-ready', 'Announce that the controller is ready', (step) =>
      announceReady(step, isAgentBased),
    );
  }
  if (config.service.url.isEmpty) {
    const title = 'Wait for the bootstrap host to join the cluster';
    await runStep(scope, 'wait-for-bootstrap-host', title, (step) =>
      waitForBootstrapHost(step, cluster),
    );
  } else if (isAgentBased) {
    await endWithCluster(scope);
  } else {
    await endAtService(scope);
  }
  await runStep(
    scope,
    'remove-record',
    'Remove the record of the bootstrap host',
    removeLeftRecord,
  );
}

const endTitle = 'Wait for the end of the installation';

/**
 * An agent-based installation ends when the cluster is installed, and its operators are configured.
 */
async function endWithCluster(scope: ProgramScope): Promise<void> {
  const failed = new AbortController();
  const inner = { ...scope, signal: AbortSignal.any([scope.signal, failed.signal]) };
  const title = 'Apply the manifests of operators from the agent-based installer';
  const steps = [
    runStep(inner, 'wait-for-end', endTitle, waitForCluster),
    runStep(inner, 'apply-agent-manifests', title, applyAgentManifests),
  ];
  try {
    await Promise.all(steps);
  } catch (error) {
    failed.abort(error);
    await Promise.allSettled(steps);
    throw error;
  }
}

/** With a service: it gets the result of the installation, and reports the end. */
async function endAtService(scope: ProgramScope): Promise<void> {
  const ended = new AbortController();
  const inner = { ...scope, signal: AbortSignal.any([scope.signal, ended.signal]) };
  const title = 'Complete the installation at the service';
  const completing = runStep(inner, 'complete-installation', title, completeInstallation);
  try {
    await runStep(scope, 'wait-for-end', endTitle, waitForService);
  } finally {
    ended.abort(new Error('the installation has ended'));
    await completing.catch(() => undefined);
  }
  const logsTitle = 'Upload the logs of the installation';
  await runStep(scope, 'upload-final-logs', logsTitle, uploadFinalLogs);
}
