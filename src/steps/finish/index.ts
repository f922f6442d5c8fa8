export { findIronic } from './find-ironic.ts';
export { leaveHost } from './leave-host.ts';
