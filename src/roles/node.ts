import { role } from '../engine/check.ts';
import { checkImage, checkSpace } from '../steps/os/check-image.ts';
import { inspectHost, lockNode } from '../steps/os/read-host.ts';
import { chooseRollback, rollBack } from '../steps/os/roll-back.ts';
import { removeOldImages, stageOsImage } from '../steps/os/stage.ts';
import type { NodeCommandWorld } from '../steps/os/step.ts';
import { recordImage, restartHost, verifyNextBoot, verifyRollback } from '../steps/os/verify.ts';

/** Switches a running node to another image; no stage is reported. */
export const nodeApply = role<NodeCommandWorld>('node-apply', {
  title: 'Switches a running node to another operating system image',
  ladder: 'worker',
  steps: [
    lockNode,
    inspectHost,
    checkImage,
    removeOldImages,
    checkSpace,
    stageOsImage,
    verifyNextBoot,
    recordImage,
    restartHost,
  ],
});

/** Rolls a running node back to the deployment before; no stage is reported. */
export const nodeRollback = role<NodeCommandWorld>('node-rollback', {
  title: 'Rolls a running node back to its previous deployment',
  ladder: 'worker',
  steps: [lockNode, inspectHost, chooseRollback, rollBack, verifyRollback, restartHost],
});
