import { applyIgnition, placePullSecret } from '../steps/bootstrap/apply-ignition.ts';
import { addControllerManifests } from '../steps/bootstrap/controller-manifests.ts';
import { restartNetwork, setHostname } from '../steps/bootstrap/network.ts';
import { overlayNodeImage } from '../steps/bootstrap/overlay-node-image.ts';
import { addSshManifest, makeSshDirectory, makeSshKey } from '../steps/bootstrap/ssh.ts';
import { reloadUnits, startServices } from '../steps/bootstrap/start-services.ts';
import { waitForController } from '../steps/cluster/controller.ts';
import { patchEtcd } from '../steps/cluster/etcd-override.ts';
import { waitForBootkube } from '../steps/cluster/wait-for-bootkube.ts';
import { waitForEtcd } from '../steps/cluster/wait-for-etcd.ts';
import { waitForArbiter, waitForMasters } from '../steps/cluster/wait-for-masters.ts';

/**
 * Makes the live system that of a bootstrap host. It all comes before the lanes: a download beside a
 * restart of the network, or a program beside a change of /usr, would be cut off.
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
export const waitForCluster = [
  waitForMasters,
  waitForArbiter,
  patchEtcd,
  waitForBootkube,
  waitForEtcd,
  waitForController,
] as const;
