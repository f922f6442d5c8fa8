import * as disk from '../steps/disk/index.ts';
import * as finish from '../steps/finish/index.ts';
import * as host from '../steps/host/index.ts';
import * as image from '../steps/image/index.ts';
import * as logs from '../steps/logs/index.ts';

/** Looks at everything that can be looked at before anything is changed. */
export const lookFirst = [
  host.prepareDirectories,
  disk.resolve,
  disk.lock,
  disk.check,
  image.choose,
] as const;

/** Takes away what would be in the way of the write. */
export const makeRoom = [disk.formatExtra, disk.clean] as const;

/** Puts the operating system with this host's Ignition where it boots from. */
export const writeSystem = [image.write, image.deployToExistingRoot] as const;

/** Hands the logs over and leaves: by a reboot, or to ironic. */
export const leave = [logs.announce, logs.upload, finish.findIronic, finish.leaveHost] as const;
