export { decideDelay, decideDelayAfterHandover } from './decide-delay.ts';
export { findIronic } from './find-ironic.ts';
export { leaveHost } from './leave-host.ts';
