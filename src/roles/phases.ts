import { resolveDisk } from '../steps/disk/resolve.ts';
import { lockDisk } from '../steps/disk/in-use.ts';
import { checkDisk } from '../steps/disk/check.ts';
import { cleanDisk, formatExtraDisks } from '../steps/disk/empty.ts';
import { setBootEntry } from '../steps/disk/set-boot-entry.ts';
import { findIronic, reboot } from '../steps/finish/finish.ts';
import { checkHooks, runAfterHook, runBeforeHook } from '../steps/image/hooks.ts';
import { confirmInstallation } from '../steps/host/confirm-installation.ts';
import { prepareDirectories } from '../steps/host/prepare-directories.ts';
import { checkRegistries, configureRegistries } from '../steps/host/registries.ts';
import { checkInputs, chooseImage } from '../steps/image/choose.ts';
import { deployToExistingRoot } from '../steps/image/deploy-to-existing-root.ts';
import { writeImage } from '../steps/image/write.ts';
import { keepUnreported } from '../steps/finish/keep-unreported.ts';
import { overwriteOs } from '../steps/layering/deploy-image.ts';
import { announceLogs, uploadLogs } from '../steps/logs/logs.ts';
import { copyRegistry, findRegistryMedia, planRegistryGrowth } from '../steps/registry/copy.ts';

/** Checks everything that can be checked before a change. */
export const preflight = [
  prepareDirectories,
  checkHooks,
  checkRegistries,
  resolveDisk,
  lockDisk,
  checkDisk,
  chooseImage,
] as const;

/**
 * Writes the operating system, with the Ignition of this host, to the boot disk or an existing
 * root. Nothing is destroyed until all inputs have been fetched and checked.
 */
export const writeSystem = [
  runBeforeHook,
  checkInputs,
  formatExtraDisks,
  cleanDisk,
  writeImage,
  deployToExistingRoot,
] as const;

/** Starts the installation if the service still wants it; from here on images are pulled. */
export const begin = [confirmInstallation, configureRegistries] as const;

/** Makes the written system bootable, with the registry of its medium. */
export const makeBootable = [
  setBootEntry,
  findRegistryMedia,
  planRegistryGrowth,
  copyRegistry,
] as const;

/** Completes the written system before its first boot. */
export const prepareFirstBoot = [overwriteOs, ...makeBootable] as const;

/** Runs the last hook, uploads the logs, and finds out whether ironic reboots the host. */
export const sendLogs = [runAfterHook, announceLogs, uploadLogs, findIronic] as const;

/** Stores reports that the service did not take, then leaves the host, by a reboot or to ironic. */
export const keepAndReboot = [keepUnreported, reboot] as const;

/** Uploads the logs and leaves the host. */
export const leave = [...sendLogs, ...keepAndReboot] as const;
