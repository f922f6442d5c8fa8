import { role } from '../engine/check.ts';
import { waitForControlPlane } from '../steps/cluster/wait-for-control-plane.ts';
import * as disk from '../steps/disk/index.ts';
import * as ignition from '../steps/ignition/index.ts';
import * as image from '../steps/image/index.ts';
import { deployWorkerImage, overlayWorkerConfig } from '../steps/layering/deploy-image.ts';
import { findWorkerImage } from '../steps/layering/find-worker-image.ts';
import * as registry from '../steps/registry/index.ts';
import { leave, lookFirst, makeRoom, writeSystem } from './parts.ts';

/** Writes the disk of a worker, waits until two masters are done, and reboots into it. */
export const worker = role('worker', {
  title: 'Installs a worker node',
  ladder: 'worker',
  steps: [
    ...lookFirst,
    ...makeRoom,
    ignition.fetchHost,
    ...writeSystem,
    waitForControlPlane,
    findWorkerImage,
    deployWorkerImage,
    overlayWorkerConfig,
    image.overwriteOs,
    disk.setBootEntry,
    registry.findMedia,
    ...leave,
  ],
});
