export { checkImage } from './check-image.ts';
export { checkSpace } from './check-space.ts';
export { cleanUp } from './clean-up.ts';
export { decideGoingBack, goBack } from './go-back.ts';
export { lockNode, look } from './look.ts';
export { restart } from './restart.ts';
export { stage } from './stage.ts';
export type { NodeOrder, NodePorts } from './step.ts';
export { verify, verifyBack } from './verify.ts';
