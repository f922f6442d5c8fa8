import { role } from '../engine/check.ts';
import * as os from '../steps/os/index.ts';

/** Takes a running node back to what it ran before; no stage is reported. */
export const nodeRollback = role<os.NodeCommandWorld>('node-rollback', {
  title: 'Takes a running node back to what it ran before',
  ladder: 'worker',
  steps: [
    os.lockNode,
    os.inspectHost,
    os.chooseRollback,
    os.rollBack,
    os.verifyRollback,
    os.restartHost,
  ],
});
