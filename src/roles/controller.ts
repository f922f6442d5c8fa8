import { lanes, role } from '../engine/role.ts';
import { applyAgentManifests } from '../controllers/installation/agent-manifests.ts';
import { announceReady } from '../controllers/installation/announce-ready.ts';
import { completeInstallation } from '../controllers/installation/complete-installation.ts';
import { reconcileInstallation } from '../controllers/installation/controllers.ts';
import { removeLeftRecord } from '../controllers/installation/left-work.ts';
import { readNewCluster } from '../controllers/installation/new-cluster.ts';
import { uploadFinalLogs, uploadLogsRegularly } from '../controllers/installation/upload-logs.ts';
import { waitForEnd } from '../controllers/installation/wait-for-end.ts';
import { waitForBootstrapHost } from '../controllers/installation/without-service.ts';
import type { ControllerWorld } from '../controllers/installation/step.ts';

/** Completes an installation from inside the new cluster, until the service says how it ended. */
export const controller = role<ControllerWorld>('controller', {
  title: 'Completes an installation from inside the new cluster',
  ladder: 'bootstrap',
  steps: [
    readNewCluster,
    announceReady,
    lanes<ControllerWorld>({ end: [waitForEnd], manifests: [applyAgentManifests] }),
    uploadFinalLogs,
    removeLeftRecord,
  ],
  follow: [reconcileInstallation, completeInstallation, uploadLogsRegularly],
});

/**
 * Where there is no inventory service: does what the bootstrap host has left, until that host has
 * joined.
 */
export const controllerWithoutService = role<ControllerWorld>('controller-without-service', {
  title: 'Completes a bootstrap host in its new cluster, without a service',
  ladder: 'bootstrap',
  steps: [readNewCluster, announceReady, waitForBootstrapHost, removeLeftRecord],
  follow: [reconcileInstallation],
});
