import { role } from '../engine/role.ts';
import { waitForControlPlane } from '../steps/cluster/wait-for-control-plane.ts';
import { setBootEntry } from '../steps/disk/set-boot-entry.ts';
import { fetchHost } from '../steps/ignition/fetch-host.ts';
import {
  deployWorkerImage,
  overlayWorkerConfig,
  overwriteOs,
} from '../steps/layering/deploy-image.ts';
import { findWorkerImage } from '../steps/layering/find-worker-image.ts';
import { findRegistryMedia } from '../steps/registry/copy.ts';
import { begin, leave, preflight, writeSystem } from './phases.ts';

/** Writes the disk of a worker, waits until two masters are done, and reboots into it. */
export const worker = role('worker', {
  title: 'Installs a worker node',
  ladder: 'worker',
  steps: [
    ...preflight,
    ...begin,
    fetchHost,
    ...writeSystem,
    waitForControlPlane,
    findWorkerImage,
    deployWorkerImage,
    overlayWorkerConfig,
    overwriteOs,
    setBootEntry,
    findRegistryMedia,
    ...leave,
  ],
});
