import { overwriteOs } from '../steps/layering/overwrite-os.ts';
import { addDefaultOsConfigs, nameRepositories } from '../steps/layering/add-manifests.ts';
import { buildImages } from '../steps/layering/build-images.ts';
import {
  blockConfigServer,
  unblockConfigServer,
  serveImages,
} from '../steps/layering/config-server.ts';
import { deployOwn } from '../steps/layering/deploy-own.ts';
import { checkServedConfig, waitForLayeredMasters } from '../steps/layering/gates.ts';
import { gatherLogs } from '../steps/layering/gather-logs.ts';
import { handOverServed, handOverToRollOut, leaveHandOver } from '../steps/layering/hand-over.ts';
import { readOsConfigs, setAsideOsConfigs } from '../steps/layering/os-configs.ts';
import { copyBase, publishImages, sendBase } from '../steps/layering/publish-images.ts';
import { stopRegistry } from '../steps/layering/staging-registry.ts';
import { startRegistry } from '../steps/layering/start-registry.ts';
import { waitForRendered } from '../steps/layering/wait-for-rendered.ts';

/** Reads the MachineOSConfigs among the manifests, and keeps hosts waiting until their images are built. */
export const readLayering = [
  addDefaultOsConfigs,
  readOsConfigs,
  setAsideOsConfigs,
  nameRepositories,
  blockConfigServer,
] as const;

/**
 * Builds the OS image of each pool from its rendered MachineConfig, with the written disk for room. Serves it to
 * the masters, and deploys it, or else the release image, to this host.
 */
export const buildLayeredImages = [
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

/** Hands the images over to the cluster's operator, and checks that its masters run them. */
export const finishLayering = [
  leaveHandOver,
  handOverToRollOut,
  waitForLayeredMasters,
  checkServedConfig,
  gatherLogs,
  stopRegistry,
] as const;
