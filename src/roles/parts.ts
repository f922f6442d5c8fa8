import * as bootstrap from '../steps/bootstrap/index.ts';
import * as disk from '../steps/disk/index.ts';
import * as finish from '../steps/finish/index.ts';
import { prepareDirectories } from '../steps/host/prepare-directories.ts';
import * as image from '../steps/image/index.ts';
import * as layering from '../steps/layering/index.ts';
import * as logs from '../steps/logs/index.ts';
import * as registry from '../steps/registry/index.ts';

/** Looks at everything that can be looked at before anything is changed. */
export const lookFirst = [
  prepareDirectories,
  disk.resolve,
  disk.lock,
  disk.check,
  image.choose,
] as const;

/** Takes away what would be in the way of the write. */
export const makeRoom = [disk.formatExtra, disk.clean] as const;

/**
 * Makes the live system that of a bootstrap host. It all comes before the lanes: a download beside a
 * restart of the network, or a program beside a change of /usr, would be cut off.
 */
export const goLive = [
  bootstrap.makeSshDirectory,
  bootstrap.fetchIgnition,
  bootstrap.placePullSecret,
  bootstrap.applyIgnition,
  bootstrap.makeSshKey,
  bootstrap.addSshManifest,
  bootstrap.reloadUnits,
  bootstrap.setHostname,
  bootstrap.restartNetwork,
  bootstrap.overlayNodeImage,
] as const;

/** Starts the temporary control plane with the controller among its manifests. */
export const startControlPlane = [
  bootstrap.addControllerManifests,
  bootstrap.startServices,
] as const;

/** Puts the operating system with this host's Ignition where it boots from. */
export const writeSystem = [image.write, image.deployToExistingRoot] as const;

/** Lets the written system boot, with the registry of its medium. */
export const makeBootable = [disk.setBootEntry, registry.findMedia, registry.copy] as const;

/** Completes what was written before it boots for the first time. */
export const prepareFirstBoot = [image.overwriteOs, ...makeBootable] as const;

/**
 * Builds the operating systems of the pools from what the control plane has rendered, with the written disk for
 * room, lets the masters have theirs, and takes that of masters for this host, or else that of the release.
 */
export const buildOwnImage = [
  layering.waitForRendered,
  layering.startRegistry,
  layering.copyBase,
  layering.sendBase,
  layering.buildImages,
  layering.publishImages,
  layering.serveImages,
  layering.unblockConfigServer,
  layering.handOverServed,
  layering.deployOwn,
  image.overwriteOs,
] as const;

/** Hands the logs over, and finds out who reboots the host. */
export const handOver = [logs.announce, logs.upload, finish.findIronic] as const;

/** Hands the logs over and leaves: by a reboot, or to ironic. */
export const leave = [...handOver, finish.decideDelay, finish.leaveHost] as const;
