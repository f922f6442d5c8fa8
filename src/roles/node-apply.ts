import { role } from '../engine/check.ts';
import * as os from '../steps/os/index.ts';

/** Moves a running node to another image; no stage is reported. */
export const nodeApply = role<os.NodeCommandWorld>('node-apply', {
  title: 'Moves a running node to another operating system image',
  ladder: 'worker',
  steps: [
    os.lockNode,
    os.inspectHost,
    os.checkImage,
    os.removeOldImages,
    os.checkSpace,
    os.stageImage,
    os.verifyNextBoot,
    os.recordImage,
    os.restartHost,
  ],
});
