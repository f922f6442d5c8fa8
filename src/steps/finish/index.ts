export {
  decideRebootDelay as decideDelay,
  decideRebootDelayAfterHandover as decideDelayAfterHandover,
} from './finish.ts';
export { findIronic } from './finish.ts';
export { rebootHost as leaveHost } from './finish.ts';
