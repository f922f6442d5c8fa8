export { decideDelay, decideDelayAfterHandover } from './finish.ts';
export { findIronic } from './finish.ts';
export { leaveHost } from './finish.ts';
