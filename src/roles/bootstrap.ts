import type { Config } from '../config/schema.ts';
import { condition } from '../engine/condition.ts';
import { lanes, role } from '../engine/role.ts';
import { applyIgnition, placePullSecret } from '../steps/bootstrap/apply-ignition.ts';
import { addControllerManifests } from '../steps/bootstrap/controller-manifests.ts';
import { checkBootstrapSettings, fetchIgnition } from '../steps/bootstrap/fetch-ignition.ts';
import { restartNetwork, setHostname } from '../steps/bootstrap/network.ts';
import { overlayNodeImage } from '../steps/bootstrap/overlay-node-image.ts';
import { addSshManifest, makeSshDirectory, makeSshKey } from '../steps/bootstrap/ssh.ts';
import { reloadUnits, startServices } from '../steps/bootstrap/start-services.ts';
import { followControllerLogs, waitForController } from '../steps/cluster/controller.ts';
import { patchEtcd } from '../steps/cluster/etcd-override.ts';
import { followHosts } from '../steps/cluster/follow-hosts.ts';
import { leaveRecord } from '../steps/cluster/leave-record.ts';
import { waitForBootkube } from '../steps/cluster/wait-for-bootkube.ts';
import { waitForEtcdHandover, waitForEtcd } from '../steps/cluster/wait-for-etcd.ts';
import { waitForMachineConfigs } from '../steps/cluster/wait-for-machine-configs.ts';
import { waitForArbiter, waitForMasters } from '../steps/cluster/wait-for-masters.ts';
import { waitForWorkers } from '../steps/cluster/wait-for-workers.ts';
import { fetchHost } from '../steps/ignition/fetch-host.ts';
import { buildImages } from '../steps/layering/build-images.ts';
import {
  blockConfigServer,
  unblockConfigServer,
  serveImages,
} from '../steps/layering/config-server.ts';
import { deployOwn, overwriteOs } from '../steps/layering/deploy-image.ts';
import { checkServedConfig, waitForLayeredMasters } from '../steps/layering/gates.ts';
import { gatherLogsAtTheEnd, gatherLogs } from '../steps/layering/gather-logs.ts';
import { handOverServed, submitOsConfigs } from '../steps/layering/hand-over.ts';
import { addDefaultOsConfigs, nameRepositories } from '../steps/layering/manifests.ts';
import { readOsConfigs, setAsideOsConfigs } from '../steps/layering/os-configs.ts';
import { unpausePools } from '../steps/layering/pool-pause.ts';
import { copyBase, publishImages, sendBase } from '../steps/layering/publish-images.ts';
import { waitForRendered } from '../steps/layering/wait-for-rendered.ts';
import { stopRegistry, startRegistry } from '../steps/layering/staging-registry.ts';
import { begin, keepAndReboot, makeBootable, preflight, sendLogs, writeSystem } from './phases.ts';

/**
 * Reads the MachineOSConfigs in the manifests, and makes hosts wait until their images are built.
 */
const readLayering = [
  addDefaultOsConfigs,
  readOsConfigs,
  setAsideOsConfigs,
  nameRepositories,
  blockConfigServer,
] as const;

/**
 * Builds the OS image of each pool from its rendered MachineConfig, using the space of the written
 * disk. Serves the image to the masters, and deploys it, or else the release image, to this host.
 */
const buildLayeredImages = [
  waitForRendered,
  startRegistry,
  copyBase,
  sendBase,
  buildImages,
  publishImages,
  serveImages,
  unblockConfigServer,
  handOverServed,
  deployOwn,
  overwriteOs,
] as const;

/**
 * Submits the MachineOSConfigs that the cluster builds, and checks that its masters run the built
 * images.
 */
const finishLayering = [
  submitOsConfigs,
  waitForLayeredMasters,
  checkServedConfig,
  gatherLogs,
  stopRegistry,
] as const;

/**
 * Turns the live system into a bootstrap host. All these steps come before the lanes: a restart of
 * the network would interrupt a download, and a change of /usr a running program.
 */
export const applyBootstrap = [
  makeSshDirectory,
  placePullSecret,
  applyIgnition,
  makeSshKey,
  addSshManifest,
  reloadUnits,
  setHostname,
  restartNetwork,
  overlayNodeImage,
] as const;

/** Starts the temporary control plane with the controller among its manifests. */
export const startControlPlane = [addControllerManifests, startServices] as const;

/** Waits until the masters have taken the control plane over. */
const waitForCluster = [
  waitForMasters,
  waitForArbiter,
  patchEtcd,
  waitForBootkube,
  waitForEtcd,
  waitForController,
] as const;

const inTurn = condition<Config>(
  'the lanes are to run in turn',
  (config) => config.bootstrap.lanes === 'in-turn',
);

/** Starts a temporary control plane, waits for two masters to take over, then becomes the third. */
export const bootstrapHost = role('bootstrap', {
  title: 'Starts a temporary control plane, waits for two masters, then becomes the third',
  ladder: 'bootstrap',
  steps: [
    ...preflight,
    checkBootstrapSettings,
    ...begin,
    fetchIgnition,
    fetchHost,
    ...applyBootstrap,
    ...readLayering,
    lanes(
      {
        'control plane': startControlPlane,
        disk: [...writeSystem, ...makeBootable, ...buildLayeredImages],
        cluster: waitForCluster,
      },
      { inTurn, ahead: { cluster: 'Waiting for bootstrap node preparation' } },
    ),
    waitForWorkers,
    waitForMachineConfigs,
    waitForEtcdHandover,
    ...finishLayering,
    leaveRecord,
    ...sendLogs,
    ...keepAndReboot,
  ],
  follow: [followHosts, followControllerLogs],
  // Before the reboot, and after a failure.
  always: [unpausePools, gatherLogsAtTheEnd],
});
