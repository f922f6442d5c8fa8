export { checkImage, checkRequest, checkSpace } from './check-image.ts';
export { inspectHost, lockNode } from './read-host.ts';
export { chooseRollback, rollBack } from './roll-back.ts';
export { removeOldImages, stageImage } from './stage.ts';
export type { NodeCommandWorld, NodeRequest } from './step.ts';
export { recordImage, restartHost, verifyNextBoot, verifyRollback } from './verify.ts';
