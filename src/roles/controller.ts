import { role } from '../engine/check.ts';
import { lanes } from '../engine/role.ts';
import { approveRequests } from '../controllers/installation/approve-requests.ts';
import { applyAgentManifests } from '../steps/controller/agent-manifests.ts';
import { announceReady } from '../steps/controller/announce-ready.ts';
import { registerBareMetalHosts } from '../steps/controller/bare-metal-hosts.ts';
import { completeInstallation } from '../steps/controller/complete-installation.ts';
import { countReboots, waitForCounts } from '../steps/controller/count-reboots.ts';
import { freeDnsAddress } from '../steps/controller/dns-address.ts';
import { doLeftWork, endLeftPauses, removeLeftRecord } from '../steps/controller/left-work.ts';
import { labelNodes } from '../steps/controller/label-nodes.ts';
import { readNewCluster } from '../steps/controller/new-cluster.ts';
import { reportNodes } from '../steps/controller/report-nodes.ts';
import { uploadFinalLogs, uploadLogsRegularly } from '../steps/controller/upload-logs.ts';
import { waitForEnd } from '../steps/controller/wait-for-end.ts';
import { waitForBootstrapHost } from '../steps/controller/without-service.ts';
import type { ControllerWorld } from '../steps/controller/world.ts';

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
    waitForCounts,
  ],
  follow: [
    freeDnsAddress,
    reportNodes,
    approveRequests,
    doLeftWork,
    endLeftPauses,
    labelNodes,
    registerBareMetalHosts,
    completeInstallation,
    countReboots,
    uploadLogsRegularly,
  ],
});

/** Where there is no inventory service: does what the bootstrap host has left, until that host has joined. */
export const controllerWithoutService = role<ControllerWorld>('controller-without-service', {
  title: 'Completes a bootstrap host in its new cluster, without a service',
  ladder: 'bootstrap',
  steps: [readNewCluster, announceReady, waitForBootstrapHost, removeLeftRecord],
  follow: [approveRequests, doLeftWork, endLeftPauses],
});
